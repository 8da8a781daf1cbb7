import {
  type DataFrame,
  dataFrameToJSON,
  type DataQueryResponse,
  LoadingState,
  StreamingDataFrame,
} from '@grafana/data';
import { type GrafanaLiveSrv, type LiveDataStreamOptions } from '@grafana/runtime';
import { BehaviorSubject, NEVER, Observable, Subject } from 'rxjs';

/** A channel as a test drives it. */
interface FakeChannel {
  options: LiveDataStreamOptions;
  buffer: StreamingDataFrame;
  responses: Subject<DataQueryResponse>;
}

/** Grafana Live with its real buffer and without a network. Channels keep their buffer, as they do for five seconds. */
export class FakeLive implements GrafanaLiveSrv {
  readonly connected = new BehaviorSubject(true);
  readonly subscriptions: LiveDataStreamOptions[] = [];
  watchers = 0;
  /** Whether subscriptions are answered with the channel's columns. */
  answers = true;
  private readonly channels = new Map<string, FakeChannel>();

  getConnectionState() {
    return this.connected.asObservable();
  }

  getDataStream(options: LiveDataStreamOptions): Observable<DataQueryResponse> {
    return new Observable((subscriber) => {
      this.subscriptions.push(options);
      this.watchers++;
      const channel = this.channels.get(options.addr.path) ?? this.open(options);
      channel.buffer.resize(options.buffer ?? {});
      subscriber.next(responseOf(channel.buffer));
      const forwarding = channel.responses.subscribe(subscriber);
      const answer = setTimeout(() => this.answers && subscriber.next(responseOf(channel.buffer)), 20);
      return () => {
        this.watchers--;
        clearTimeout(answer);
        forwarding.unsubscribe();
      };
    });
  }

  /** Rows arrive on a channel. */
  push(path: string, frame: DataFrame) {
    const { buffer, responses } = this.at(path);
    const { schema, data } = dataFrameToJSON(frame);
    const schemaIsKnown = buffer.fields.length === frame.fields.length && !frame.meta?.notices;
    buffer.push(schemaIsKnown ? { data } : { schema, data });
    responses.next(responseOf(buffer));
  }

  /** Grafana reports an error on a channel, which stays subscribed. */
  fail(path: string, message: string) {
    const { buffer, responses } = this.at(path);
    // LiveDataStream reports errors in a member that the type calls deprecated.
    responses.next(Object.assign(responseOf(buffer), { state: LoadingState.Error, error: { message } }));
  }

  /** A channel ends. */
  end(path: string) {
    this.at(path).responses.complete();
  }

  getStream = () => NEVER;
  getPresence = () => Promise.reject(new Error('no presence in tests'));
  publish = () => Promise.reject(new Error('nothing is published in tests'));

  private open(options: LiveDataStreamOptions): FakeChannel {
    const buffer = StreamingDataFrame.empty(options.buffer);
    if (options.frame) {
      buffer.push(options.frame);
    }
    const channel = { options, buffer, responses: new Subject<DataQueryResponse>() };
    this.channels.set(options.addr.path, channel);
    return channel;
  }

  private at(path: string): FakeChannel {
    const channel = this.channels.get(path);
    if (!channel) {
      throw new Error(`nobody subscribed to ${path}`);
    }
    return channel;
  }
}

function responseOf(buffer: StreamingDataFrame): DataQueryResponse {
  return { key: 'xstr/0', state: LoadingState.Streaming, data: [buffer] };
}
