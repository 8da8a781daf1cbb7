import * as emotionCss from '@emotion/css';
import * as emotionReact from '@emotion/react';
import * as grafanaData from '@grafana/data';
import * as grafanaRuntime from '@grafana/runtime';
import * as grafanaUi from '@grafana/ui';
import i18next from 'i18next';
import lodash from 'lodash';
// eslint-disable-next-line no-restricted-imports -- Grafana shares it with plugins
import moment from 'moment';
import * as react from 'react';
import * as jsxRuntime from 'react/jsx-runtime';
import * as reactDom from 'react-dom';
import * as reactRouter from 'react-router';
import * as rxjs from 'rxjs';

import { PluginPage } from '../appPages/PluginPage';

/** The modules that a built plugin leaves out of its bundle because Grafana has them (.config/bundler/externals.ts). */
const shared: Record<string, unknown> = {
  '@emotion/css': emotionCss,
  '@emotion/react': emotionReact,
  '@grafana/data': grafanaData,
  '@grafana/runtime': { ...grafanaRuntime, PluginPage },
  '@grafana/ui': grafanaUi,
  i18next,
  lodash,
  moment,
  react,
  'react/jsx-runtime': jsxRuntime,
  'react-dom': reactDom,
  'react-router': reactRouter,
  rxjs,
};

type Factory = (...dependencies: unknown[]) => unknown;

const loaded = new Map<string, Promise<Record<string, unknown>>>();
let queue: Promise<unknown> = Promise.resolve();

/**
 * Loads a plugin's AMD module from the host, once. The modules are loaded one after the other, because a script says what it
 * defines but not which script it is.
 */
export function importPlugin(url: string): Promise<Record<string, unknown>> {
  let module = loaded.get(url);
  if (!module) {
    module = queue.then(() => importModule(url));
    loaded.set(url, module);
    queue = module.catch(() => undefined);
  }
  return module;
}

async function importModule(url: string): Promise<Record<string, unknown>> {
  let defined: { names: string[]; factory: Factory } | undefined;
  const define = (names: string[], factory: Factory) => {
    defined = { names, factory };
  };
  Object.assign(window, { define: Object.assign(define, { amd: {} }) });
  try {
    await runScript(url);
  } finally {
    Object.assign(window, { define: undefined });
  }
  if (!defined) {
    throw new Error(`${url} defines no AMD module: is it a built plugin?`);
  }
  const exports: Record<string, unknown> = {};
  const found = defined.factory(...defined.names.map((name) => dependency(name, url, exports)));
  return found && typeof found === 'object' ? { ...found } : exports;
}

function dependency(name: string, url: string, exports: Record<string, unknown>): unknown {
  switch (name) {
    case 'module':
      return { id: url, uri: new URL(url, window.location.origin).href };
    case 'exports':
      return exports;
  }
  const module = shared[name];
  if (!module) {
    throw new Error(`${url} asks for ${name}, which the preview does not share: add it to pluginLoader.ts`);
  }
  return module;
}

function runScript(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = url;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`${url} could not be loaded: is the plugin built?`));
    document.head.append(script);
  });
}
