import { screen, within } from '@testing-library/react';

import { type Options } from './options';
import { showPage } from './test/page';

const TWO: Partial<Options> = {
  jsonData: {
    clusters: [
      { name: 'north', endpoints: [{ id: 'north-a', url: 'http://a:9090', auth: 'basic', user: 'me' }] },
      { name: 'south', endpoints: [{ id: 'south-a', url: 'http://c:9090' }] },
    ],
  },
  secureJsonFields: { endpoint_north_password: true, 'endpoint_north-a_password': true },
};

const group = (name: string) => within(screen.getByRole('group', { name }));

describe('clusters', () => {
  test('from nothing to a cluster with two endpoints: one button, one address', async () => {
    const { user, json, press } = showPage();
    expect(screen.queryByText('Connections')).not.toBeInTheDocument();
    await press('Add cluster');
    expect(json().clusters).toEqual([{ name: 'cluster', endpoints: [{ id: 'cluster-prometheus', url: '' }] }]);
    expect(screen.getByLabelText(/^Name/)).toHaveFocus();
    expect(screen.queryByRole('alert')).not.toBeInTheDocument();

    await user.clear(screen.getByLabelText(/^Name/));
    await user.type(screen.getByLabelText(/^Name/), 'North East');
    await user.type(screen.getByLabelText(/^Prometheus URL/), 'http://a:9090');
    await press('Add endpoint');
    expect(json().clusters).toEqual([
      {
        name: 'North East',
        endpoints: [
          { id: 'cluster-prometheus', url: 'http://a:9090' },
          { id: 'north-east-prometheus', url: '' },
        ],
      },
    ]);
    expect(screen.getAllByRole('radiogroup', { name: 'Role' })).toHaveLength(2);
  });

  test('names that are missing or taken are said to be', async () => {
    const { user } = showPage(TWO);
    const [first] = screen.getAllByLabelText(/^Name/);
    await user.clear(first);
    expect(screen.getByText('Give the cluster a name.')).toBeInTheDocument();
    await user.type(first, 'south');
    expect(screen.getAllByText(/Another cluster has this name/)).toHaveLength(2);
  });

  test('a move keeps the focus, is announced, and takes secrets along', async () => {
    const { user, json, saved } = showPage(TWO);
    screen.getByRole('button', { name: 'Move cluster south up' }).focus();
    await user.keyboard('{Enter}');
    expect(json().clusters?.map(({ name }) => name)).toEqual(['south', 'north']);
    expect(screen.getByText('Moved cluster south to place 1 of 2')).toBeInTheDocument();
    expect(screen.getByRole('button', { name: 'Move cluster south down' })).toHaveFocus();
    expect(saved().secureJsonFields).toEqual(TWO.secureJsonFields);
  });

  test('removing an endpoint takes its secrets along and leaves the others’', async () => {
    const { json, saved, press } = showPage(TWO);
    await press('Remove endpoint north-a');
    expect(json().clusters?.[0].endpoints).toBeUndefined();
    expect(saved().secureJsonFields).toEqual({ endpoint_north_password: true, 'endpoint_north-a_password': false });
    expect(saved().secureJsonData).toEqual({ 'endpoint_north-a_password': '' });
  });

  test('removing a cluster takes the secrets of all its endpoints along, and those of headers', async () => {
    const { json, saved, press } = showPage({
      jsonData: { clusters: [{ name: 'north', endpoints: [{ id: 'a', url: '', headers: ['X-A'] }] }] },
      secureJsonFields: { 'endpoint_a_header_X-A': true },
    });
    await press('Remove cluster north');
    expect(json()).toEqual({});
    expect(saved().secureJsonFields).toEqual({ 'endpoint_a_header_X-A': false });
    expect(screen.getByRole('button', { name: 'Add cluster' })).toHaveFocus();
  });
});

describe('access', () => {
  async function openNorth() {
    const page = showPage(TWO);
    const endpoint = group('Endpoint north-a');
    await page.user.click(endpoint.getByRole('button', { name: 'Expand section Authentication, TLS and headers' }));
    return { ...page, endpoint };
  }

  test('a stored password is shown as configured, and can be replaced', async () => {
    const { user, saved, endpoint } = await openNorth();
    expect(endpoint.getByLabelText(/^Password/)).toHaveValue('configured');
    await user.click(endpoint.getByRole('button', { name: 'Reset' }));
    expect(endpoint.getByText('Enter the password, or choose no authentication.')).toBeInTheDocument();
    await user.type(endpoint.getByLabelText(/^Password/), 'secret');
    expect(saved().secureJsonData?.['endpoint_north-a_password']).toBe('secret');
  });

  test('authentication shows the fields of its method only', async () => {
    const { user, json, saved, endpoint } = await openNorth();
    expect(endpoint.queryByLabelText(/^Token/)).not.toBeInTheDocument();
    await user.click(endpoint.getByRole('radio', { name: 'Bearer token' }));
    expect(json().clusters?.[0].endpoints[0].auth).toBe('bearer');
    expect(endpoint.queryByLabelText(/^Password/)).not.toBeInTheDocument();
    await user.type(endpoint.getByLabelText(/^Token/), 't');
    expect(saved().secureJsonData).toEqual({ 'endpoint_north-a_token': 't' });
  });

  test('an identity is always forwarded only where Grafana hands it over', async () => {
    const { user, json, endpoint } = await openNorth();
    await user.click(endpoint.getByRole('radio', { name: 'Always' }));
    expect(json().oauthPassThru).toBe(true);
    expect(json().clusters?.[0].endpoints[0].oauthPassThru).toBe(true);
    expect(endpoint.getByText(/Choose no authentication/)).toBeInTheDocument();
    await user.click(endpoint.getByRole('radio', { name: 'None' }));
    expect(endpoint.queryByText(/Choose no authentication/)).not.toBeInTheDocument();
  });

  test('the tenant is a header with a secret value, which goes along with its name', async () => {
    const { user, json, saved, endpoint } = await openNorth();
    await user.click(endpoint.getByRole('button', { name: 'Add tenant header' }));
    await user.type(endpoint.getByLabelText('Value'), 'team-a');
    expect(json().clusters?.[0].endpoints[0].headers).toEqual(['X-Scope-OrgID']);
    expect(saved().secureJsonData).toEqual({ 'endpoint_north-a_header_X-Scope-OrgID': 'team-a' });

    await user.clear(endpoint.getByLabelText('Header'));
    await user.type(endpoint.getByLabelText('Header'), 'Host');
    expect(json().clusters?.[0].endpoints[0].headers).toEqual(['X-Scope-OrgID']);
    await user.tab();
    expect(saved().secureJsonData).toMatchObject({ 'endpoint_north-a_header_Host': 'team-a' });
    expect(endpoint.getByText('Host belongs to the connection: remove it.')).toBeInTheDocument();
    await user.click(endpoint.getByRole('button', { name: 'Remove header Host' }));
    expect(json().clusters?.[0].endpoints[0].headers).toBeUndefined();
    expect(saved().secureJsonData?.['endpoint_north-a_header_Host']).toBe('');
  });

  test('a new id takes typed secrets along and forgets stored ones', async () => {
    const { user, json, saved, endpoint } = await openNorth();
    await user.click(endpoint.getByRole('radio', { name: 'Bearer token' }));
    await user.type(endpoint.getByLabelText(/^Token/), 't');
    await user.click(endpoint.getByRole('button', { name: 'Expand section Limits and replicas' }));
    await user.type(endpoint.getByLabelText(/^Id/), '2');
    await user.tab();
    expect(json().clusters?.[0].endpoints[0].id).toBe('north-a2');
    expect(saved().secureJsonData).toEqual({
      'endpoint_north-a2_token': 't',
      'endpoint_north-a_token': '',
      'endpoint_north-a_password': '',
    });
    expect(group('Endpoint north-a2').getByLabelText(/^Token/)).toHaveValue('t');
  });
});

describe('agents', () => {
  test('an empty allow-list is told of, hosts are pasted, and the wrong one is named', async () => {
    const { user, json, open } = showPage(TWO);
    open('Agents');
    expect(screen.getByText('No agent will be dialled')).toBeInTheDocument();
    const allow = screen.getByLabelText(/^Allow-list/);
    await user.click(allow);
    await user.paste('10.0.0.0/8, *.gpu.example.com\n');
    expect(json().agents?.allow).toEqual(['10.0.0.0/8', '*.gpu.example.com']);
    expect(screen.queryByText('No agent will be dialled')).not.toBeInTheDocument();
    await user.type(allow, 'gpu-1:98470');
    expect(screen.getByText(/“gpu-1:98470” has no port after the colon/)).toBeInTheDocument();
    await user.clear(allow);
    expect(json()).toEqual(TWO.jsonData);
  });

  test('agents by address, by DNS and by file', async () => {
    const { user, json, open, press } = showPage(TWO);
    open('Agents');
    await user.click(screen.getByRole('radio', { name: /^Listed here/ }));
    expect(screen.getByText('List agents below, or choose By Prometheus.')).toBeInTheDocument();
    open('Agents by address');
    await press('Add agent');
    await user.type(screen.getByLabelText(/^Address/), 'gpu-1:9847');
    open('Agents by DNS');
    await press('Add DNS name');
    await user.type(group('DNS name 1').getByLabelText(/^Name/), 'a');
    open('Agents by file');
    await press('Add file');
    await user.click(screen.getByLabelText(/^Content/));
    await user.paste('- targets: [lab-1, lab-2:x]');
    expect(screen.getByText(/“lab-2:x” is not host:port/)).toBeInTheDocument();
    await user.clear(screen.getByLabelText(/^Content/));
    await user.paste('- targets: [lab-1]');
    expect(screen.getByText('Names 1 agent.')).toBeInTheDocument();
    expect(json().agents).toEqual({
      discovery: 'static',
      static: [{ cluster: 'north', address: 'gpu-1:9847' }],
      dns: [{ cluster: 'north', name: 'a' }],
      files: [{ cluster: 'north', content: '- targets: [lab-1]' }],
    });
    await user.click(screen.getByRole('radio', { name: /^Off/ }));
    expect(screen.queryByLabelText(/^Allow-list/)).not.toBeInTheDocument();
  });

  test('a group has hosts and credentials of its own', async () => {
    const { user, json, saved, open, press } = showPage(TWO);
    open('Agents');
    open('Groups of agents');
    await press('Add group');
    const lab = group('Group group');
    await user.type(lab.getByLabelText(/^Hosts/), 'lab-*');
    await user.click(lab.getByRole('button', { name: 'Expand section Authentication, TLS and headers' }));
    await user.click(lab.getByRole('radio', { name: 'Bearer token' }));
    await user.type(lab.getByLabelText(/^Token/), 't');
    expect(json().agents?.groups).toEqual([{ id: 'group', hosts: ['lab-*'], auth: 'bearer' }]);
    expect(saved().secureJsonData).toEqual({ agentgroup_group_token: 't' });
  });
});

describe('the rest', () => {
  test('durations and numbers have bounds, defaults as placeholders, and units', async () => {
    const { user, json, open } = showPage();
    open('Queries');
    const interval = screen.getByLabelText(/^Scrape interval/);
    expect(interval).toHaveAttribute('placeholder', '15s');
    await user.type(interval, '15');
    expect(screen.getByText(/Write a number with its unit/)).toBeInTheDocument();
    await user.type(interval, 'h');
    expect(screen.getByText('Write a duration from 1s to 1h.')).toBeInTheDocument();
    await user.clear(interval);
    expect(json()).toEqual({});

    await user.type(screen.getByLabelText(/^Series of a panel/), '5');
    expect(screen.getByText('Write a whole number from 10 to 100000.')).toBeInTheDocument();
    open('Cache');
    await user.type(screen.getByLabelText(/^Memory/), '64');
    expect(json().cache).toEqual({ maxBytes: 64 * 1024 * 1024 });
    await user.clear(screen.getByLabelText(/^Memory/));
    await user.type(screen.getByLabelText(/^Memory/), '0');
    expect(json().cache).toEqual({ maxBytes: 0 });
  });

  test('streams of one user are bounded by those of all', async () => {
    const { user, open } = showPage({ jsonData: { live: { maxStreams: 100 } } });
    open('Live streams');
    const perUser = screen.getByLabelText(/^Streams of one user/);
    expect(perUser).toHaveAttribute('placeholder', '100');
    await user.type(perUser, '101');
    expect(screen.getByText('Write a whole number from 1 to 100.')).toBeInTheDocument();
  });

  test('a shared cache without its type is gone, password and all', async () => {
    const { user, json, saved, open } = showPage({
      jsonData: { cache: { remote: { type: 'redis', addresses: ['a:1'] } } },
      secureJsonFields: { cache_password: true },
    });
    open('Cache');
    await user.type(screen.getByLabelText(/^Servers/), '{Enter}b');
    expect(screen.getByText(/“b” is not host:port: write something like cache-1:6379/)).toBeInTheDocument();
    await user.click(
      within(screen.getByRole('radiogroup', { name: 'Shared cache' })).getByRole('radio', { name: 'None' })
    );
    expect(json()).toEqual({});
    expect(saved().secureJsonFields).toEqual({ cache_password: false });
  });

  test('a price table row, and a threshold for a model', async () => {
    const { user, json, open, press } = showPage();
    open('Judgements and costs');
    open('Prices of GPUs');
    await press('Add price');
    await user.type(screen.getByLabelText('Model'), 'H100');
    await user.type(screen.getByLabelText(/^Per GPU and hour/), '2.5');
    await user.type(screen.getAllByLabelText(/^Currency/)[0], 'EUR');
    expect(json().insight).toEqual({ currency: 'EUR', prices: [{ model: 'H100', perGPUHour: 2.5 }] });

    open('Thresholds');
    await user.click(screen.getByLabelText('Holds for'));
    await user.click(screen.getByRole('option', { name: 'A model' }));
    const [, model] = screen.getAllByLabelText('Model');
    await user.type(model, 'H100 v1.5');
    await user.click(screen.getByLabelText('Limit'));
    await user.click(screen.getByRole('option', { name: /^marginCelsius/ }));
    await press('Add threshold');
    const limit = screen.getByLabelText(/^health: marginCelsius of H100 v1.5/);
    expect(limit).toHaveValue(3);
    await user.type(limit, '0');
    expect(json().insight?.limits).toEqual({ health: { models: { 'H100 v1.5': { marginCelsius: 30 } } } });
    await press('Remove threshold health: marginCelsius of H100 v1.5');
    expect(json().insight?.limits).toBeUndefined();
  });
});
