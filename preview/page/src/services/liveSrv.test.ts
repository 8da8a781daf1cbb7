import { type DataFrameJSON, FieldType, LiveChannelScope } from '@grafana/data';
import { type LiveDataStreamOptions, StreamingFrameAction } from '@grafana/runtime';

import { PreviewLiveSrv } from './liveSrv';

type Listener = (context: { data: unknown }) => void;

const mockListeners = new Map<string, Listener>();

jest.mock('@grafana/runtime', () => ({ StreamingFrameAction: { Append: 'append', Replace: 'replace' } }));
jest.mock('centrifuge', () => ({
  Centrifuge: class {
    on() {}
    connect() {}
    newSubscription() {
      return { on: (event: string, listener: Listener) => mockListeners.set(event, listener), subscribe() {} };
    }
  },
}));

const columns = [
  { name: 'gpu', type: FieldType.string },
  { name: 'xid_time', type: FieldType.time },
];

function packet(gpus: string[]): DataFrameJSON {
  return {
    schema: { fields: columns },
    data: { values: [gpus, gpus.map((_, i) => (i === 0 ? 1_793_400_000_000 : null))] },
  };
}

function follow(live: PreviewLiveSrv, buffer: LiveDataStreamOptions['buffer']): string[][] {
  const seen: string[][] = [];
  live
    .getDataStream({
      addr: { scope: LiveChannelScope.DataSource, stream: 'gpu', path: 't/0' },
      buffer,
    })
    .subscribe(({ data }) => seen.push(Array.from(data[0].fields[0].values)));
  return seen;
}

test('whoever replaces sees the newest packet alone, whoever appends sees them all, on one channel', () => {
  const live = new PreviewLiveSrv('http://localhost');
  const replaced = follow(live, { action: StreamingFrameAction.Replace, maxLength: 3 });
  const appended = follow(live, { action: StreamingFrameAction.Append, maxLength: 100 });
  mockListeners.get('subscribed')?.({ data: { schema: { fields: columns } } });
  mockListeners.get('publication')?.({ data: packet(['a', 'b']) });
  mockListeners.get('publication')?.({ data: packet(['a', 'b', 'c']) });
  expect(replaced).toEqual([[], ['a', 'b'], ['a', 'b', 'c']]);
  expect(appended).toEqual([[], ['a', 'b'], ['a', 'b', 'a', 'b', 'c']]);
  expect(follow(live, { action: StreamingFrameAction.Replace, maxLength: 3 })).toEqual([['a', 'b', 'c']]);
});
