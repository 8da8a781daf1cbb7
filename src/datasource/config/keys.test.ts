import { screen } from '@testing-library/react';

import { type Options } from './options';
import { KEYS } from './rules';
import { EVERYTHING } from './test/everything';
import { openAll, showPage } from './test/page';

/** Keys that a field under another key reads and writes. */
const TOLD_BY: Record<string, string> = {
  'clusters[].endpoints[].replicaLabel': 'clusters[].endpoints[].replicaLabels',
};

const PREFIXES = ['endpoint_north-a_', 'agents_', 'agentgroup_lab_', 'alertmanager_alerts_'];

/** The settings that have a field on the page. */
function shown(): Set<string | null> {
  return new Set([...document.querySelectorAll('[data-setting]')].map((field) => field.getAttribute('data-setting')));
}

const place = (key: string) => key.replace(/\[\]/g, '.0');

test('every key that the backend reads has a field, and so has every secret', () => {
  showPage({ jsonData: EVERYTHING });
  openAll();
  const fields = shown();
  expect(KEYS.filter((key) => !fields.has(place(TOLD_BY[key] ?? key)))).toEqual([]);

  const secrets = PREFIXES.flatMap((prefix) =>
    ['password', 'caCert', 'tlsClientCert', 'tlsClientKey'].map((name) => prefix + name)
  );
  const others = [
    'endpoint_north-b_token',
    'cache_password',
    'endpoint_north-a_header_X-Scope-OrgID',
    'agents_header_X-Agent',
  ];
  expect([...secrets, ...others].filter((key) => !fields.has(key))).toEqual([]);
});

test('everything that is set is right, and shown as it is', () => {
  showPage({ jsonData: EVERYTHING, secureJsonFields: allSecrets() });
  openAll();
  expect(screen.queryAllByRole('alert').map(({ textContent }) => textContent)).toEqual([]);
  expect(screen.getByLabelText(/^Scrape interval/)).toHaveValue('10s');
  expect(document.getElementById('agents.maxBytes')).toHaveValue(512);
  expect(document.getElementById('clusters.0.endpoints.0.replicaLabels')).toHaveValue('replica\nprometheus_replica');
  expect(screen.getByLabelText(/^health: nvlinks of H100 v1.5/)).toHaveValue(18);
  expect(screen.getByText('Names 2 agents.')).toBeInTheDocument();
});

test('a provisioned data source shows all values, and none can be changed', () => {
  const { saved } = showPage({ jsonData: EVERYTHING, secureJsonFields: allSecrets(), readOnly: true });
  const before = saved();
  openAll();
  expect(screen.getByText('Provisioned')).toBeInTheDocument();
  const inputs = [...document.querySelectorAll('input, textarea, select')];
  expect(inputs.length).toBeGreaterThan(KEYS.length);
  expect(inputs.filter((input) => !input.matches(':disabled')).map(({ id }) => id)).toEqual([]);
  const buttons = [...document.querySelectorAll('button')].filter((button) => CHANGES.test(textOf(button)));
  expect(buttons.length).toBeGreaterThan(10);
  expect(buttons.filter((button) => !button.disabled).map(textOf)).toEqual([]);
  expect(document.getElementById('endpoint_north-a_password')).toHaveValue('configured');
  expect(saved()).toBe(before);
});

test('what nobody here knows survives changes beside it', async () => {
  const strange: unknown = {
    someday: { kept: true },
    httpHeaderName1: 'X',
    ...EVERYTHING,
    agents: { ...EVERYTHING.agents, someday: 1 },
    insight: { someday: 2, limits: { health: { someday: [1] } } },
    clusters: [{ ...EVERYTHING.clusters?.[0], someday: 3 }],
  };
  const { user, json, open } = showPage({ jsonData: strange as Options['jsonData'] });
  await user.type(screen.getAllByLabelText(/^Prometheus URL/)[0], '1');
  open('Agents');
  await user.type(screen.getByLabelText(/^Allow-list/), '{Enter}gpu-1');
  open('Judgements and costs');
  open('Thresholds');
  await user.click(screen.getByLabelText('Limit'));
  await user.click(screen.getByRole('option', { name: /^busy/ }));
  await user.click(screen.getByRole('button', { name: 'Add threshold' }));
  expect(json()).toMatchObject({
    someday: { kept: true },
    httpHeaderName1: 'X',
    agents: { ...EVERYTHING.agents, someday: 1, allow: ['10.0.0.0/8', 'gpu-1'] },
    insight: { someday: 2, limits: { health: { someday: [1], busy: 0.2 } } },
    clusters: [{ name: 'north', someday: 3 }],
  });
});

function allSecrets(): Record<string, boolean> {
  const names = ['password', 'caCert', 'tlsClientCert', 'tlsClientKey'];
  const headers = [
    'endpoint_north-a_header_X-Scope-OrgID',
    'agents_header_X-Agent',
    'agentgroup_lab_header_X-Lab',
    'alertmanager_alerts_header_X-Scope-OrgID',
    'endpoint_north-b_token',
    'cache_password',
  ];
  const keys = [...PREFIXES.flatMap((prefix) => names.map((name) => prefix + name)), ...headers];
  return Object.fromEntries(keys.map((key) => [key, true]));
}

const CHANGES = /^(Add|Remove|Move|Reset)/;

function textOf(button: Element): string {
  return button.getAttribute('aria-label') ?? button.textContent ?? '';
}
