import { render, screen, within } from '@testing-library/react';
import React, { useState } from 'react';

import { testUser } from '../../test/testUser';
import { ConfigEditor } from './ConfigEditor';
import { type Options } from './options';

function optionsOf(part: Partial<Options>): Options {
  return { jsonData: {}, secureJsonFields: {}, readOnly: false, ...part } as Options;
}

const TWO: Partial<Options> = {
  jsonData: {
    clusters: [
      { name: 'north', endpoints: [{ id: 'north-a', url: 'http://a:9090', auth: 'basic', user: 'me' }] },
      { name: 'south', endpoints: [{ id: 'south-a', url: 'http://c:9090' }] },
    ],
  },
  secureJsonFields: { endpoint_north_password: true, 'endpoint_north-a_password': true },
};

const onOptionsChange = jest.fn();
const saved = (): Options => onOptionsChange.mock.lastCall[0];

function Page({ initial }: { initial: Options }) {
  const [options, setOptions] = useState(initial);
  const change = (next: Options) => {
    onOptionsChange(next);
    setOptions(next);
  };
  return <ConfigEditor options={options} onOptionsChange={change} />;
}

function show(part: Partial<Options> = {}) {
  render(<Page initial={optionsOf(part)} />);
  return testUser();
}

const clusters = () => saved().jsonData.clusters ?? [];
const button = (name: string | RegExp) => screen.getByRole('button', { name });

test('from nothing to a cluster with two endpoints, each with an id that stays', async () => {
  const user = show();
  await user.click(button('Add cluster'));
  expect(clusters()).toEqual([{ name: 'cluster', endpoints: [{ id: 'cluster-prometheus', url: '', auth: 'none' }] }]);

  const name = screen.getByLabelText(/^Name/);
  await user.clear(name);
  await user.type(name, 'North East');
  await user.type(screen.getByLabelText(/Prometheus URL/), 'http://a:9090');
  expect(clusters()[0]).toMatchObject({
    name: 'North East',
    endpoints: [{ id: 'cluster-prometheus', url: 'http://a:9090' }],
  });

  await user.click(button('Add endpoint'));
  expect(clusters()[0].endpoints.map(({ id }) => id)).toEqual(['cluster-prometheus', 'north-east-prometheus']);
});

test('removing an endpoint takes its secrets along and leaves the others’', async () => {
  const user = show(TWO);
  await user.click(button('Remove endpoint north-a'));
  expect(clusters()[0].endpoints).toEqual([]);
  expect(saved().secureJsonFields).toEqual({ endpoint_north_password: true, 'endpoint_north-a_password': false });
  expect(saved().secureJsonData).toEqual({ 'endpoint_north-a_password': '' });
});

test('removing a cluster takes the secrets of all its endpoints along', async () => {
  const user = show(TWO);
  await user.click(button('Remove cluster north'));
  expect(clusters().map(({ name }) => name)).toEqual(['south']);
  expect(saved().secureJsonFields?.['endpoint_north-a_password']).toBe(false);
});

test('a stored password is shown as set, and can be replaced', async () => {
  const user = show(TWO);
  const endpoint = within(screen.getByRole('group', { name: 'Endpoint north-a' }));
  await user.click(endpoint.getByText('Authentication, TLS and options'));
  expect(endpoint.getByLabelText(/^Password/)).toHaveValue('configured');
  await user.click(endpoint.getAllByRole('button', { name: /reset/i })[0]);
  await user.type(endpoint.getByLabelText(/^Password/), 'secret');
  expect(saved().secureJsonData?.['endpoint_north-a_password']).toBe('secret');
});

test('authentication shows the fields of its method only', async () => {
  const user = show(TWO);
  const endpoint = within(screen.getByRole('group', { name: 'Endpoint north-a' }));
  await user.click(endpoint.getByText('Authentication, TLS and options'));
  expect(endpoint.queryByLabelText(/^Token/)).not.toBeInTheDocument();
  await user.click(endpoint.getByRole('radio', { name: 'Bearer token' }));
  expect(clusters()[0].endpoints[0].auth).toBe('bearer');
  expect(endpoint.queryByLabelText(/^Password/)).not.toBeInTheDocument();
  await user.type(endpoint.getByLabelText(/^Token/), 't');
  expect(saved().secureJsonData).toEqual({ 'endpoint_north-a_token': 't' });
});

test('names that are missing or taken are said to be', async () => {
  const user = show(TWO);
  const [first] = screen.getAllByLabelText(/^Name/);
  await user.clear(first);
  expect(screen.getByText('Give the cluster a name.')).toBeInTheDocument();
  await user.type(first, 'south');
  expect(screen.getAllByText('Another cluster has this name.')).toHaveLength(2);
});

test('agents: an empty allow-list is warned of, hosts are added, a static list can be written', async () => {
  const user = show(TWO);
  expect(screen.getByText('No agent will be dialled')).toBeInTheDocument();
  await user.type(screen.getByLabelText(/^Allow-list/), '10.0.0.0/8{Enter}');
  expect(saved().jsonData.agents?.allow).toEqual(['10.0.0.0/8']);
  expect(screen.queryByText('No agent will be dialled')).not.toBeInTheDocument();

  await user.click(screen.getByRole('radio', { name: 'Listed here' }));
  await user.click(button('Add agent'));
  await user.type(screen.getByLabelText('Address'), 'gpu-1:9847');
  expect(saved().jsonData.agents).toMatchObject({
    discovery: 'static',
    static: [{ cluster: 'north', address: 'gpu-1:9847' }],
  });
  await user.click(button('Remove agent gpu-1:9847'));
  expect(saved().jsonData.agents?.static).toEqual([]);

  await user.click(screen.getByRole('radio', { name: 'Off' }));
  expect(screen.queryByLabelText(/^Allow-list/)).not.toBeInTheDocument();
});

test('settings that the form does not show survive a change', async () => {
  const hidden = {
    dns: [{ name: 'dnssrv+_agents._tcp.gpu.test' }],
    files: [{ content: '- targets: [gpu-1]' }],
    groups: [{ id: 'lab', hosts: ['lab-*'], scheme: 'https' as const }],
    headers: ['X-Org'],
    someday: { kept: true },
  };
  const user = show({ jsonData: { ...TWO.jsonData, agents: hidden, other: 1 } as Options['jsonData'] });
  expect(screen.getByRole('radio', { name: 'Listed here' })).toBeChecked();
  await user.type(screen.getByLabelText(/^Allow-list/), '10.0.0.0/8{Enter}');
  expect(saved().jsonData).toMatchObject({ agents: { ...hidden, allow: ['10.0.0.0/8'] }, other: 1 });
});

test('a scrape interval without a unit is refused', async () => {
  const user = show();
  await user.type(screen.getByLabelText(/^Scrape interval/), '15');
  expect(screen.getByText(/Write a number with its unit/)).toBeInTheDocument();
  await user.type(screen.getByLabelText(/^Scrape interval/), 's');
  expect(screen.queryByText(/Write a number with its unit/)).not.toBeInTheDocument();
  expect(saved().jsonData.scrapeInterval).toBe('15s');
});

test('a provisioned data source can be read, not changed', async () => {
  show({ ...TWO, readOnly: true });
  expect(screen.getByText('Provisioned')).toBeInTheDocument();
  for (const name of ['Add cluster', 'Remove cluster north', 'Remove endpoint north-a']) {
    expect(button(name)).toBeDisabled();
  }
  screen.getAllByRole('textbox').forEach((input) => expect(input).toBeDisabled());
  screen.getAllByRole('radio').forEach((input) => expect(input).toBeDisabled());
});
