import { type AppendCommand, otherSubjects } from './append.js';

/**
 * Commands of one call. More gain nothing (13,000 appends/s are reached below), and a reader waits for the
 * whole call before it sees the first event.
 */
const MOST_COMMANDS = 200;
/** Events and locks of one call: a command may bring thousands, and PostgreSQL's table of locks has an end. */
const MOST_WEIGHT = 2_000;

/**
 * Takes the commands of the next call off the queue, in order. One that rests on a stream that another of the
 * same call writes to waits for a later one: inside one transaction their locks would not part them.
 */
export function takeBatch<Waiting extends { command: AppendCommand }>(queue: Waiting[]): Waiting[] {
  const batch: Waiting[] = [];
  const later: Waiting[] = [];
  const written = new Set<string>();
  const held = new Set<string>();
  let weight = 0;
  let next = 0;
  for (; next < queue.length && batch.length < MOST_COMMANDS && weight < MOST_WEIGHT; next += 1) {
    const waiting = queue[next]!;
    const { command } = waiting;
    // A stream that begins here is known to nobody else.
    const writes = command.writes.flatMap((write) => (write.expectedVersion > 0 ? [write.streamId] : []));
    const holds = [...(command.guards ?? []).map((guard) => guard.streamId), ...otherSubjects(command)];
    if (writes.some((id) => held.has(id)) || holds.some((id) => written.has(id))) {
      later.push(waiting);
      continue;
    }
    for (const id of writes) written.add(id);
    for (const id of holds) held.add(id);
    weight += writes.length + holds.length;
    for (const write of command.writes) weight += write.events.length;
    batch.push(waiting);
  }
  queue.splice(0, next, ...later);
  return batch;
}
