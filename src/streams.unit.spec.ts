import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Decider, fold, NewerEvent, type RecordedEvent } from '#libs/event-store';
import { replay } from '#libs/projections';
import { replayables, streams, upcasters } from './modules.js';
import { readExported } from './history/index.js';

/** A history of all current event types, with events between them that a later version may have added. */
const lines = readFileSync(join(__dirname, '..', 'test', 'golden', 'history.ndjson'), 'utf8').trimEnd();
const history = lines.split('\n').map((line) => readExported(line, upcasters)!);
const deciders = streams.filter((one): one is Decider<object, any> => 'evolve' in one);

/** Adds an event of an unknown type after each event. */
function withUnknown(events: readonly RecordedEvent[]): RecordedEvent[] {
  return events.flatMap((event) => [event, { ...event, type: 'WrittenTomorrow', data: { name: 'guessed' } }]);
}

it.each(deciders.map((decider) => [decider.streamType, decider] as const))(
  'a %s is the same if its history contains events of unknown types',
  (streamType, decider) => {
    const events = history.filter((event) => event.streamType === streamType);
    // What only the next release writes is in no history yet.
    const written = Object.keys(decider.events).filter((type) => upcasters[type]?.writes !== 'not yet');
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(written));
    for (const id of new Set(events.map(({ streamId }) => streamId))) {
      const own = events.filter(({ streamId }) => streamId === id);
      for (let n = 0; n <= own.length; n += 1) {
        expect(fold(decider, withUnknown(own.slice(0, n)))).toEqual(fold(decider, own.slice(0, n)));
      }
      expect(fold(decider, withUnknown(own).slice(1)).version).toBe(own.at(-1)!.version);
    }
  },
);

it('a replay skips them, and reports them', async () => {
  const records = async (events: RecordedEvent[], told?: (event: RecordedEvent) => void) => {
    async function* all() {
      await Promise.resolve();
      yield* events;
    }
    const replayed = await replay(replayables, all(), told);
    return replayed.map(({ object, records }) => ({ object, records: [...records] }));
  };
  const told: RecordedEvent[] = [];
  expect(await records(withUnknown(history), (event) => told.push(event))).toEqual(await records(history));
  const replayed = replayables.flatMap(({ streamTypes }) => streamTypes);
  expect(told).toHaveLength(history.filter(({ streamType }) => replayed.includes(streamType)).length);
});

it.each(streams.flatMap(({ events }) => Object.keys(events)))(
  'a line with %s in a future shape is rejected, not ignored',
  (type) => {
    const line = JSON.stringify({
      ...(JSON.parse(lines.split('\n')[0]!) as object),
      type,
      schema: 99,
    });
    expect(() => readExported(line, upcasters)).toThrow(NewerEvent);
  },
);
