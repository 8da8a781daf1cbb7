import { type DataFrame, type DataQueryRequest, type DataQueryResponse, LoadingState } from '@grafana/data';
import {
  auditTime,
  concat,
  connect,
  defer,
  distinctUntilChanged,
  ignoreElements,
  map,
  merge,
  NEVER,
  type Observable,
  of,
  scan,
  startWith,
  switchMap,
  takeUntil,
  tap,
  timer,
} from 'rxjs';

import { continuationOf, requestNow } from './continuation';
import { failureOf } from './failureOf';
import { type LiveSide } from './LiveSide';
import { liveDisabled, refreshFailed, type Trouble, withTrouble } from './trouble';
import { type ChannelState, pollMsOf, type Troubles, watchChannel } from './watchChannel';

/** Packets of several channels that arrive together become one answer. */
const COALESCE_MS = 40;

/**
 * How soon a panel asks for rows that it missed, at random between the two: whatever made one miss them made a thousand. And how
 * far apart such questions are at least.
 */
const REFILL_MS = [500, 5_000] as const;
const REFILL_EVERY_MS = 30_000;

/** How soon a panel whose live side went away asks whether it is back. */
const RETURN_MS = 10_000;

export interface JoinOptions<T extends DataQueryRequest> {
  request: T;
  /** Asks the backend; never fails, but answers with errors. */
  ask: (request: T) => Observable<DataQueryResponse>;
  /** Undefined where Grafana runs without Live. */
  live: LiveSide | undefined;
  /** UID of the data source. */
  uid: string;
  /** Whether the panel may show warnings. */
  showWarnings: boolean;
}

/**
 * The backend's answer, continued by the streams it names. Every emission is the whole answer: static frames, errors and
 * notices as they came, streamed frames as they stand. While a stream is in trouble the panel keeps what it has, says
 * why, and the backend is asked again from time to time.
 */
export function joinLive<T extends DataQueryRequest>(options: JoinOptions<T>): Observable<DataQueryResponse> {
  return defer(() => ask(options, { round: 0, troubles: new Map() }));
}

/** What one round leaves for the next. */
interface Memory {
  round: number;
  /** The last response that had data. */
  shown?: DataQueryResponse;
  /** By refId. */
  troubles: Map<string, Troubles>;
  /** When missed rows were asked for last, in ms. */
  refilled?: number;
}

/** Asks, and goes on with the answer. */
function ask<T extends DataQueryRequest>(options: JoinOptions<T>, memory: Memory): Observable<DataQueryResponse> {
  const request = memory.round === 0 ? options.request : requestNow(options.request);
  return options.ask(request).pipe(switchMap((answer) => continueAnswer(answer, options, memory)));
}

function continueAnswer<T extends DataQueryRequest>(
  answer: DataQueryResponse,
  options: JoinOptions<T>,
  memory: Memory
): Observable<DataQueryResponse> {
  const again = defer(() => ask(options, { ...memory, round: memory.round + 1 }));
  const seeds: DataFrame[] = answer.data.filter(continuationOf);

  if (memory.shown && answer.data.length === 0) {
    const failed = refreshFailed(failureOf(answer) ?? 'it was empty');
    return concat(of(warned(memory.shown, failed, options.showWarnings)), pause(RETURN_MS), again);
  }
  if (seeds.length === 0) {
    if (memory.round === 0) {
      return of(answer);
    }
    memory.shown = answer;
    return concat(of({ ...answer, state: LoadingState.Streaming }), pause(RETURN_MS), again);
  }
  if (!options.live) {
    return of(warned(answer, liveDisabled(), options.showWarnings));
  }

  const pollMs = Math.max(...seeds.map((seed) => pollMsOf(continuationOf(seed)!)));
  const start = initialStates(seeds, memory);
  const streamed = followAll(seeds, options.live, options.uid, memory).pipe(
    // Both sides must listen before the first channel speaks, which it may do at once.
    connect((states) =>
      states.pipe(
        auditTime(COALESCE_MS),
        startWith(start),
        map((current) => respond(answer, current, options.showWarnings)),
        tap((response) => {
          memory.shown = response;
        }),
        takeUntil(
          states.pipe(
            map(reasonToAsk),
            startWith(reasonToAsk(start)),
            distinctUntilChanged(),
            switchMap((reason) => waitToAsk(reason, pollMs, memory))
          )
        )
      )
    )
  );
  return concat(streamed, again);
}

/** Emits when it is time to ask again. */
function waitToAsk(reason: Reason | undefined, pollMs: number, memory: Memory): Observable<unknown> {
  switch (reason) {
    case 'incomplete':
      return timer(refillWait(memory)).pipe(
        tap(() => {
          memory.refilled = Date.now();
        })
      );
    case 'trouble':
      return timer(pollMs);
    default:
      return NEVER;
  }
}

function refillWait({ refilled = -Infinity }: Memory): number {
  const [least, most] = REFILL_MS;
  return Math.max(0, refilled + REFILL_EVERY_MS - Date.now()) + least + Math.random() * (most - least);
}

/** Emits nothing for a while. */
function pause(ms: number): Observable<never> {
  return timer(ms).pipe(ignoreElements());
}

type States = Map<DataFrame, ChannelState>;

/** The states of all channels, each time one changes. */
function followAll(seeds: DataFrame[], live: LiveSide, uid: string, memory: Memory): Observable<States> {
  const changes = seeds.map((seed) => {
    const continuation = continuationOf(seed)!;
    const carried = memory.troubles.get(channelKey(seed));
    return watchChannel({ live, uid, seed, continuation, carried }).pipe(
      tap((state) => memory.troubles.set(channelKey(seed), state.troubles)),
      map((state) => ({ seed, state }))
    );
  });
  return merge(...changes).pipe(
    scan((states, { seed, state }) => new Map(states).set(seed, state), initialStates(seeds, memory))
  );
}

function initialStates(seeds: DataFrame[], memory: Memory): States {
  return new Map(
    seeds.map((seed) => [
      seed,
      { frame: seed, troubles: memory.troubles.get(channelKey(seed)) ?? {}, outdated: false, incomplete: false },
    ])
  );
}

/** A question keeps its refId through every round, while its path changes with the series that it finds. */
function channelKey(seed: DataFrame): string {
  return seed.refId ?? '';
}

/** Why an answer is wanted. */
type Reason = 'incomplete' | 'trouble';

function reasonToAsk(states: States): Reason | undefined {
  const all = Array.from(states.values());
  // First: an answer in place of a stream comes sooner than one more for missed rows, and has these too.
  if (all.some((state) => state.outdated || troubleOf(state) !== undefined)) {
    return 'trouble';
  }
  return all.some(({ incomplete }) => incomplete) ? 'incomplete' : undefined;
}

/** The most telling of what is wrong: without a connection nothing else can be right. */
function troubleOf({ troubles }: ChannelState): Trouble | undefined {
  return troubles.connection ?? troubles.channel ?? troubles.silence;
}

/** The whole answer, in its own order. A trouble is told once, however many frames have it. */
function respond(answer: DataQueryResponse, states: States, showWarnings: boolean): DataQueryResponse {
  const told = new Set<string>();
  const data = answer.data.map((frame: DataFrame) => {
    const state = states.get(frame);
    if (!state) {
      return frame;
    }
    const trouble = troubleOf(state);
    if (!trouble || !showWarnings || told.has(trouble.text)) {
      return state.frame;
    }
    told.add(trouble.text);
    return withTrouble(state.frame, trouble);
  });
  return { ...answer, data, state: LoadingState.Streaming };
}

function warned(answer: DataQueryResponse, trouble: Trouble, showWarnings: boolean): DataQueryResponse {
  const [first, ...rest]: DataFrame[] = answer.data;
  return first && showWarnings ? { ...answer, data: [withTrouble(first, trouble), ...rest] } : answer;
}
