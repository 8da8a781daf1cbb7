import { configure, fireEvent, render, screen } from '@testing-library/react';
import React, { useState } from 'react';
import { MemoryRouter } from 'react-router-dom';

import { testUser } from '../../../test/testUser';
import { ConfigEditor } from '../ConfigEditor';
import { type Options } from '../options';

/** A settings page that keeps what is written, as Grafana's does. */
export function showPage(part: Partial<Options> = {}) {
  // Whether styles hide an element is not looked up: jsdom takes minutes for it on a page of this size.
  configure({ defaultHidden: true });
  const initial = { jsonData: {}, secureJsonFields: {}, readOnly: false, uid: 'gpu', version: 1, ...part } as Options;
  let current = initial;
  let save: (options: Options) => void = () => undefined;

  function Page() {
    const [options, setOptions] = useState(initial);
    current = options;
    save = setOptions;
    return <ConfigEditor options={options} onOptionsChange={setOptions} />;
  }

  render(
    <MemoryRouter>
      <Page />
    </MemoryRouter>
  );
  const user = testUser();
  return {
    user,
    saved: () => current,
    json: () => current.jsonData,
    /** Grafana's answer to a save: the same settings, one version on. */
    save: () => save({ ...current, version: (current.version ?? 0) + 1 }),
    press: (name: string | RegExp) => user.click(screen.getByRole('button', { name })),
    open: openSection,
  };
}

/** Opens every section and subsection. */
export function openAll() {
  for (let folded = foldedSections(); folded.length > 0; folded = foldedSections()) {
    folded.forEach((button) => fireEvent.click(button));
  }
}

function foldedSections(): Element[] {
  return [...document.querySelectorAll('button[aria-label^="Expand section"]')];
}

function openSection(title: string) {
  const button = document.querySelector(`button[aria-label="Expand section ${title}"]`);
  if (!button) {
    throw new Error(`No section ${title} is folded.`);
  }
  fireEvent.click(button);
}
