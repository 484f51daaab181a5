import { type JsonObject } from './event.js';

/** What an event says, apart from when and by whom. */
export type EventBody = { data: JsonObject; personal: JsonObject | null };

/** Turns one shape into the next, or into the one before. `personal` is null also where the person was erased. */
export type Cast = (body: EventBody) => EventBody;

/**
 * What shapes a type of events has, where it is not the one that it always had.
 *
 * `reads`: the first turns schema 1 into schema 2, the next 2 into 3, …: the program knows the last alone.
 *
 * `writes`: instances of the release before serve beside this one, and must be able to read it. So the release that
 * brings a shape only reads it, and the next one writes it:
 *
 *     { reads: [toSecond], writes: { asBefore: toFirst } }     the release that learns to read schema 2
 *     { reads: [toSecond], writes: 'newest' }                  the release after
 *
 * and the same of a type that is new in streams which the release before knows:
 *
 *     { reads: [], writes: 'not yet' }                         the release that learns to read it
 *                                                              the release after: no line
 */
type Shape =
  | { readonly reads: readonly [Cast, ...Cast[]]; readonly writes: 'newest' | { readonly asBefore: Cast } }
  | { readonly reads: readonly []; readonly writes: 'not yet' };

/** By type. What is not named has schema 1. */
export type Upcasters = { readonly [type: string]: Shape };

/**
 * An event that a later version of this program wrote, in a shape or of a type that this one does not know. What it did
 * to its record nobody can tell here: the record is not guessed, and nothing is decided on it.
 */
export class NewerEvent extends Error {
  constructor(
    readonly type: string,
    readonly schema: number,
  ) {
    super(`A newer version of this program wrote ${type}, schema ${schema}, which this one does not know.`);
  }
}

/** An event that no version of this program wrote: someone altered the history. Commands on its record fail. */
export class DamagedEvent extends Error {
  constructor(event: { position: number | string; type: string }) {
    super(
      `The data of the ${event.type} at position ${event.position} is not an object: someone altered the history.`,
    );
  }
}

/** The last schema of a type that this version of the program reads. */
export function readSchema(upcasters: Upcasters, type: string): number {
  return 1 + (upcasters[type]?.reads.length ?? 0);
}

/** The schema that events of a type are written with; 0 where they are not written yet. */
export function writtenSchema(upcasters: Upcasters, type: string): number {
  const writes = upcasters[type]?.writes;
  if (writes === 'not yet') return 0;
  return readSchema(upcasters, type) - (typeof writes === 'object' ? 1 : 0);
}

/** @throws NewerEvent when the event has a schema that this version of the program does not know yet. */
export function upcast(upcasters: Upcasters, type: string, schema: number, body: EventBody): EventBody {
  if (schema > readSchema(upcasters, type)) throw new NewerEvent(type, schema);
  return (upcasters[type]?.reads ?? []).slice(schema - 1).reduce((read, turn) => turn(read), body);
}

/** An event as it is written: in the newest shape, or in the one before. @throws when it is not written yet. */
export function asWritten(
  upcasters: Upcasters,
  type: string,
  body: EventBody,
): EventBody & { schema: number } {
  const schema = writtenSchema(upcasters, type);
  if (schema === 0) throw new Error(`${type} is not written yet: the release before could not read it.`);
  const writes = upcasters[type]?.writes;
  return { schema, ...(typeof writes === 'object' ? writes.asBefore(body) : body) };
}
