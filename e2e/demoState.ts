import { readFileSync } from 'node:fs';

/** One process of a running demo stack. */
export interface DemoProcess {
  name: string;
  pid: number;
  log: string;
  url: string;
}

/** What a demo stack says about itself, in the file that DEMO_STATE names. */
export interface DemoState {
  url: string;
  processes: DemoProcess[];
}

/** Reads the state of the demo stack, or undefined when the tests run against something else (PREVIEW_URL). */
export function demoState(): DemoState | undefined {
  const file = process.env.DEMO_STATE;
  if (!file) {
    return undefined;
  }
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`DEMO_STATE names ${file}, which could not be read: start the demo first (go tool mage demo).`, {
      cause: error,
    });
  }
}

/** Where the page under test is. */
export function previewUrl(): string {
  return process.env.PREVIEW_URL || demoState()?.url || 'http://127.0.0.1:3000';
}
