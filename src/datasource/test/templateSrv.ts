import { type ScopedVars } from '@grafana/data';
import { type TemplateSrv } from '@grafana/runtime';

interface FakeVariable {
  value: string | string[];
  text?: string;
  multi?: boolean;
  includeAll?: boolean;
}

type Format = string | ((value: unknown, variable: object) => string) | undefined;

const VARIABLE = /\$(\w+)|\$\{(\w+)(?::(\w+))?\}/g;

/** Replaces variables as Grafana does: scoped ones first, unknown ones left as they are written. */
export function fakeTemplateSrv(variables: Record<string, FakeVariable>): TemplateSrv {
  const replace = (target = '', scopedVars: ScopedVars = {}, format?: Format) =>
    target.replace(VARIABLE, (written: string, plain?: string, braced?: string, ownFormat?: string) => {
      const name = plain ?? braced ?? '';
      const variable: FakeVariable | undefined = scopedVars[name] ?? variables[name];
      return variable ? formatValue(variable, ownFormat ?? format) : written;
    });
  return {
    replace: replace as TemplateSrv['replace'],
    getVariables: () => [],
    containsTemplate: (target = '') => Array.from(target.matchAll(VARIABLE)).length > 0,
    updateTimeRange: () => undefined,
  };
}

function formatValue({ value, text, multi, includeAll }: FakeVariable, format: Format): string {
  if (typeof format === 'function') {
    return format(value, { multi, includeAll });
  }
  const values = [value].flat();
  switch (format) {
    case 'text':
      return text ?? values.join(' + ');
    case 'regex': {
      const escaped = values.map((each) => each.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
      return escaped.length === 1 ? escaped[0] : `(${escaped.join('|')})`;
    }
    default:
      return values.join(',');
  }
}
