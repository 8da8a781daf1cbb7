import { type DataFrame } from '@grafana/data';

import { type Continued } from './Continued';

/** A table of which every packet is the whole: the devices, the processes there are now. */
export class ReplacedTable implements Continued {
  private current: DataFrame;

  constructor(private readonly seed: DataFrame) {
    this.current = seed;
  }

  overlay(buffer: DataFrame): number {
    const emptied = buffer.meta?.custom?.rows === 0;
    if (!emptied && buffer.length === 0) {
      return 0; // the columns alone: what a new subscription begins with
    }
    const fields = buffer.fields.map(({ name, type, config, labels, values }) => ({
      name,
      type,
      config,
      labels,
      values: emptied ? [] : Array.from<unknown>(values),
    }));
    this.current = { ...this.seed, fields, length: emptied ? 0 : buffer.length };
    return 1;
  }

  differsFrom(): boolean {
    return false;
  }

  toFrame(): DataFrame {
    return this.current;
  }
}
