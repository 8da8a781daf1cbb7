import {
  createDataFrame,
  type DataFrame,
  FieldType,
  getDefaultTimeRange,
  LoadingState,
  type PanelData,
  type PanelProps,
} from '@grafana/data';
import { locationService } from '@grafana/runtime';
import { render, screen, waitFor, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../test/testUser';
import { FleetPanel } from './FleetPanel';
import { DEFAULTS, type FleetOptions } from './options';
import { type Drawn, fakeCanvas } from './test/fakeCanvas';
import { matrix } from './test/frames';

let drawn: Drawn;

beforeEach(() => {
  drawn = fakeCanvas();
});

afterEach(() => jest.restoreAllMocks());

const VARIABLES: Record<string, string> = { '${node}': 'All' };

function show(data: Partial<PanelData>, options: Partial<FleetOptions> = {}, width = 600) {
  const all = { series: [], state: LoadingState.Done, timeRange: getDefaultTimeRange(), ...data };
  const props = {
    id: 1,
    data: all,
    options: { ...DEFAULTS, ...options },
    width,
    height: 400,
    replaceVariables: (text: string) => VARIABLES[text] ?? text,
  } as unknown as PanelProps<FleetOptions>;
  return render(<FleetPanel {...props} />);
}

const map = () => screen.getByRole('application');
const announced = () => screen.getByTestId('fleet-announcement');

/** What the health query says of the cells: a table without numbers. */
const health = (): DataFrame =>
  createDataFrame({
    refId: 'H',
    fields: [
      { name: 'node', type: FieldType.string, values: ['n1', 'n1', 'n2'] },
      { name: 'gpu', type: FieldType.string, values: ['0', '1', '0'] },
      { name: 'severity', type: FieldType.string, values: ['ok', 'critical', ''] },
      { name: 'reason', type: FieldType.string, values: ['', 'The GPU has fallen off the bus', ''] },
    ],
  });

describe('FleetPanel', () => {
  it('says of an empty answer what to do, and shows no map', () => {
    show({});
    expect(screen.getByRole('status')).toHaveTextContent('No GPU to show');
    expect(screen.getByRole('status')).toHaveTextContent('Widen its scope or its time range.');
    expect(screen.queryByRole('application')).not.toBeInTheDocument();
  });

  it('says why an answer is empty where the data source tells', () => {
    const frame = {
      ...matrix([]),
      length: 0,
      fields: [],
      meta: { notices: [{ severity: 'warning', text: 'No agent of north answers.' } as const] },
    };
    show({ series: [frame] });
    expect(screen.getByRole('status')).toHaveTextContent('No agent of north answers.');
  });

  it('says that a table names no GPU', () => {
    show({ series: [createDataFrame({ fields: [{ name: 'city', type: FieldType.string, values: ['Turin'] }] })] });
    expect(screen.getByRole('status')).toHaveTextContent('The data names no GPU.');
  });

  it('tells errors as they are, and a refusal as one', () => {
    const { unmount } = show({ state: LoadingState.Error, errors: [{ message: 'north: connection refused' }] });
    expect(screen.getByRole('alert')).toHaveTextContent('north: connection refused');
    unmount();
    show({ state: LoadingState.Error, errors: [{ status: 403, message: 'Access denied' }] });
    expect(screen.getByRole('status')).toHaveTextContent('You may not see these GPUs');
  });

  it('waits for the first data', () => {
    show({ state: LoadingState.Loading });
    expect(screen.getByText('Loading GPUs…')).toBeInTheDocument();
  });

  it('keeps the cells of a partial answer, and says that it is partial', async () => {
    const meta = { notices: [{ severity: 'warning', text: 'south did not answer.' } as const] };
    show({ series: [{ ...matrix(), meta }], state: LoadingState.Error, errors: [{ message: 'south: timeout' }] });
    expect(map()).toHaveAccessibleName(/4 GPUs, 2 MIG instances, incomplete: see the notice$/);
    expect(screen.queryByRole('alert')).not.toBeInTheDocument();
    await waitFor(() => expect(drawn).toContain('drawImage'));
  });

  it('says of notes that are no warnings nothing', () => {
    show({ series: [{ ...matrix(), meta: { notices: [{ severity: 'info', text: 'From a roll-up.' }] } }] });
    expect(map()).toHaveAccessibleName(/4 GPUs, 2 MIG instances$/);
  });

  it('counts verdicts, the worst first, and tells what is not judged', () => {
    show({ series: [health()] });
    const legend = within(screen.getByRole('list', { name: /^Legend/ }));
    const texts = legend.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(texts.slice(1)).toEqual(['critical1', 'ok1', 'not judged1', '3 GPUs']);
  });

  it('has room for every count in a narrow panel, too', () => {
    show({ series: [health()] }, {}, 280);
    const legend = within(screen.getByRole('list', { name: 'Legend: severity' }));
    const texts = legend.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(texts).toEqual(['critical1', 'ok1', 'not judged1']);
    expect(map()).toHaveStyle({ width: '280px', height: '336px' });
  });

  it('shows verdicts as a table, and the map again', async () => {
    const user = testUser();
    show({ series: [health()] });
    await user.click(screen.getByRole('button', { name: 'Show as a table' }));
    const rows = screen.getAllByRole<HTMLTableRowElement>('row');
    expect(rows.map(({ cells }) => Array.from(cells, ({ textContent }) => textContent))).toEqual([
      ['Node', 'GPU', 'Verdict'],
      ['n1', '0', 'ok'],
      ['n1', '1', 'critical'],
      ['n2', '0', 'not judged'],
    ]);
    await user.click(screen.getByRole('button', { name: 'Show as a map' }));
    expect(map()).toBeInTheDocument();
  });

  it('shows a table of values, where absent is not zero', async () => {
    const user = testUser();
    show({ series: [matrix([0, 0.1, 0.9, 0.3, 0.7, null])] });
    await user.click(screen.getByRole('button', { name: 'Show as a table' }));
    const last = screen.getAllByRole('row').map((row) => row.lastElementChild?.textContent?.trim());
    expect(last).toEqual(['Value', '0', '0.1', '0.9', '0.3', '0.7', 'no value']);
  });

  it('reads out the cell that a key leads to', async () => {
    const user = testUser();
    show({ series: [matrix()] });
    map().focus();
    await user.keyboard('{ArrowRight}');
    expect(announced()).toHaveTextContent('n1 GPU 0, gpu_sm_active_ratio 0.5');
    await user.keyboard('{ArrowRight}');
    expect(announced()).toHaveTextContent('n1 GPU 0 MIG 1 (3g.40gb), gpu_sm_active_ratio 0.1');
    await user.keyboard('{PageDown}');
    expect(announced()).toHaveTextContent('n2 GPU 0, gpu_sm_active_ratio 0.7');
    await user.keyboard('{End}');
    expect(announced()).toHaveTextContent('n2 GPU 1, no value');
    await user.keyboard('{Home}');
    expect(announced()).toHaveTextContent('n1 GPU 0, gpu_sm_active_ratio 0.5');
  });

  it('says why a cell is judged', async () => {
    const user = testUser();
    show({ series: [health()] });
    map().focus();
    await user.keyboard('{ArrowRight}{ArrowRight}');
    expect(announced()).toHaveTextContent('n1 GPU 1, critical, The GPU has fallen off the bus');
  });

  it('opens a card with a key, and gives the keyboard back', async () => {
    const user = testUser();
    show({ series: [matrix()] });
    map().focus();
    await user.keyboard('{ArrowRight}{Enter}');
    expect(screen.getByRole('dialog', { name: 'n1 GPU 0' })).toHaveTextContent('north');
    await user.keyboard('{Escape}');
    expect(screen.queryByRole('dialog')).not.toBeInTheDocument();
    expect(map()).toHaveFocus();
  });

  it('sets the variables of what the keyboard selects', async () => {
    const user = testUser();
    const partial = jest.spyOn(locationService, 'partial').mockImplementation();
    show({ series: [matrix()] });
    map().focus();
    await user.keyboard('{Home}{Shift>}{End}{/Shift}{Enter}');
    expect(partial).toHaveBeenCalledWith({ 'var-node': ['n1', 'n2'] });
    expect(announced()).toHaveTextContent('Selected 4 GPUs on 2 nodes.');
  });

  it('leads to the app’s pages where the data has no links', async () => {
    const user = testUser();
    show({ series: [matrix()] });
    map().focus();
    await user.keyboard('{ArrowRight}{Enter}');
    const links = within(screen.getByRole('dialog')).getAllByRole('link');
    expect(links.map((link) => [link.textContent, link.getAttribute('href')])).toEqual([
      ['Open GPU', expect.stringMatching(/^\/a\/warpwatch-gpu-app\/fleet\/nodes\/north\/n1\/gpus\/GPU-a\?from=/)],
      ['Open node', expect.stringMatching(/^\/a\/warpwatch-gpu-app\/fleet\/nodes\/north\/n1\?from=/)],
    ]);
    expect(links[0]).toHaveFocus();
  });

  it('takes the data’s links in place of the app’s pages', async () => {
    const user = testUser();
    const frame = matrix();
    const [, node] = frame.fields;
    node.getLinks = () => [{ href: '/d/own', title: 'Mine', target: undefined, origin: node }];
    show({ series: [frame] });
    map().focus();
    await user.keyboard('{ArrowRight}{Enter}');
    const links = within(screen.getByRole('dialog')).getAllByRole('link');
    expect(links.map(({ textContent }) => textContent)).toEqual(['Mine']);
  });

  it('follows the first link with Ctrl and Enter, without a card', async () => {
    const user = testUser();
    const followed: string[] = [];
    const onClick = (event: MouseEvent) => {
      followed.push((event.target as HTMLAnchorElement).getAttribute('href') ?? '');
      event.preventDefault();
    };
    document.addEventListener('click', onClick);
    try {
      show({ series: [matrix()] });
      map().focus();
      await user.keyboard('{Home}{End}{Control>}{Enter}{/Control}');
    } finally {
      document.removeEventListener('click', onClick);
    }
    expect(followed).toEqual([expect.stringContaining('/nodes/north/n2/gpus/GPU-d?')]);
    expect(screen.queryByRole('dialog')).not.toBeInTheDocument();
    expect(document.querySelector('body > a')).toBeNull();
  });
});
