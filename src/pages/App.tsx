import { type AppRootProps } from '@grafana/data';
import React, { lazy } from 'react';
import { Navigate, Route, Routes } from 'react-router-dom';

import { Lazily } from './Lazily';

const Home = lazy(() => import('./home/Home').then(({ Home: component }) => ({ default: component })));

/** The app's pages. */
export function App({ meta }: AppRootProps) {
  return (
    <Lazily>
      <Routes>
        <Route index element={<Home includes={meta.includes ?? []} />} />
        <Route path="*" element={<Navigate to="." replace />} />
      </Routes>
    </Lazily>
  );
}
