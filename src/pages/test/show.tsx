import { render } from '@testing-library/react';
import React, { type ReactNode } from 'react';
import { MemoryRouter, Route, Routes, useLocation } from 'react-router-dom';

/** Shows a page at an address; the function that comes back gives the present one. */
export function showAt(address: string, path: string, page: ReactNode): () => string {
  let now = address;
  const Watch = () => {
    const { pathname, search } = useLocation();
    now = `${pathname}${search}`;
    return null;
  };
  render(
    <MemoryRouter initialEntries={[address]} future={{ v7_startTransition: true, v7_relativeSplatPath: true }}>
      <Watch />
      <Routes>
        <Route path={path} element={page} />
      </Routes>
    </MemoryRouter>
  );
  return () => now;
}
