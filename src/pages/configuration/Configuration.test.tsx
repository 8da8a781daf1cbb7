import { type AppPluginMeta } from '@grafana/data';
import { render, screen } from '@testing-library/react';
import React from 'react';
import { of, throwError } from 'rxjs';

import { testUser } from '../../test/testUser';
import { Configuration } from './Configuration';

const mockFetch = jest.fn();

jest.mock('@grafana/runtime', () => ({
  getDataSourceSrv: () => ({
    getList: () => [{ uid: 'gpu', name: 'GPUs', type: 'warpwatch-gpu-datasource', isDefault: true }],
  }),
  getBackendSrv: () => ({ fetch: mockFetch }),
}));

const meta = { id: 'warpwatch-gpu-app', enabled: false, jsonData: { kept: true } } as unknown as AppPluginMeta;

test('enables the app, keeps its settings and lists the data sources', async () => {
  mockFetch.mockReturnValue(of({ data: {} }));
  render(<Configuration meta={meta} />);
  expect(screen.queryByText('GPUs')).not.toBeInTheDocument();
  await testUser().click(screen.getByRole('button', { name: 'Enable' }));
  expect(mockFetch).toHaveBeenCalledWith(
    expect.objectContaining({
      url: '/api/plugins/warpwatch-gpu-app/settings',
      data: { enabled: true, pinned: true, jsonData: { kept: true } },
    })
  );
  expect(await screen.findByText('Warpwatch is enabled')).toBeInTheDocument();
  expect(screen.getByText('GPUs')).toBeInTheDocument();
});

test('says why nothing was saved', async () => {
  mockFetch.mockReturnValue(throwError(() => ({ status: 403, data: { message: 'You need to be an admin' } })));
  render(<Configuration meta={{ ...meta, enabled: true }} />);
  await testUser().click(screen.getByRole('button', { name: 'Disable' }));
  expect(await screen.findByText('You need to be an admin')).toBeInTheDocument();
  expect(screen.getByText('Warpwatch is enabled')).toBeInTheDocument();
});
