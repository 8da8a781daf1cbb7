import { screen, within } from '@testing-library/react';
import React from 'react';

import { testUser } from '../../test/testUser';
import { resetGrafana } from '../test/runtime';
import { showAt } from '../test/show';
import { RunbookPage } from './RunbookPage';
import { findRunbook, RUNBOOKS, searchRunbooks } from './runbooks';
import { RunbooksPage } from './RunbooksPage';

jest.mock('@grafana/runtime', () => jest.requireActual('../test/runtime').runtime);

beforeEach(resetGrafana);

test.each([
  ['xid-79', 'xid-79'],
  ['79', 'xid-79'],
  ['xid-172', 'xid-48'],
  ['GpuXidRepeat', 'xid-application'],
])('%s leads to the runbook %s', (name, id) => {
  expect(findRunbook(name)?.id).toBe(id);
});

test('a search takes every word, and titles first', () => {
  expect(searchRunbooks('')).toHaveLength(RUNBOOKS.length);
  expect(searchRunbooks('FALLEN bus')[0].id).toBe('xid-79');
  expect(searchRunbooks('no such words')).toEqual([]);
});

test('a runbook has its steps in order, and commands to copy', async () => {
  showAt('/runbooks/xid-79', '/runbooks/:id', <RunbookPage />);
  expect(screen.getByRole('heading', { level: 1 })).toHaveTextContent('GPU has fallen off the bus');
  expect(screen.getAllByRole('heading', { level: 2 }).map(({ textContent }) => textContent)).toEqual([
    'What it means',
    'What else it touches',
    'First look',
    'How to decide',
    'Safe action',
    'When to escalate',
    'How to see that it is over',
    'XIDs',
    'Read on',
  ]);
  const look = within(screen.getByRole('region', { name: 'First look' }));
  const user = testUser();
  Object.defineProperty(window, 'isSecureContext', { value: true });
  const copied = jest.spyOn(navigator.clipboard, 'writeText');
  await user.click(look.getByRole('button', { name: 'Copy nvidia-smi -L' }));
  expect(copied).toHaveBeenCalledWith('nvidia-smi -L');
});

test('one that does not exist leads to the search', () => {
  showAt('/runbooks/no-such', '/runbooks/:id', <RunbookPage />);
  expect(screen.getByText('There is no runbook “no-such”')).toBeInTheDocument();
  expect(screen.getByRole('link', { name: 'Search' })).toHaveAttribute(
    'href',
    '/a/warpwatch-gpu-app/runbooks?search=no-such'
  );
});

test('the list is searched, and the address keeps what for', async () => {
  const address = showAt('/runbooks', '/runbooks', <RunbooksPage />);
  await testUser().type(screen.getByRole('textbox', { name: 'Search runbooks' }), 'fallen off');
  expect(address()).toBe('/runbooks?search=fallen+off');
  expect(screen.getAllByRole('link')[0]).toHaveTextContent('GPU has fallen off the bus');
});
