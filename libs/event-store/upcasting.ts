import { type JsonObject } from './event.js';

/** An event's content, without its time and actor. */
export type EventBody = { data: JsonObject; personal: JsonObject | null };

/** Converts one shape into the next or the previous one. `personal` is also null if the person was erased. */
export type Cast = (body: EventBody) => EventBody;

/**
 * The shapes of a type of events that has changed.
 *
 * `reads`: the first function converts schema 1 to schema 2, the next 2 to 3, and so on. The rest of the program sees only
 * the last one.
 *
 * `writes`: instances of the previous release serve next to this one, and must be able to read its events. So the release
 * that introduces a shape only reads it, and the next one writes it:
 *
 *     { reads: [toSecond], writes: { asBefore: toFirst } }     the release that learns to read schema 2
 *     { reads: [toSecond], writes: 'newest' }                  the release after
 *
 * The same applies to a type that is new in streams that the previous release knows:
 *
 *     { reads: [], writes: 'not yet' }                         the release that learns to read it
 *                                                              the release after: no line
 */
type Shape =
  | { readonly reads: readonly [Cast, ...Cast[]]; readonly writes: 'newest' | { readonly asBefore: Cast } }
  | { readonly reads: readonly []; readonly writes: 'not yet' };

/** By type. Types that are not listed have schema 1. */
export type Upcasters = { readonly [type: string]: Shape };

/**
 * An event of a later version of this program, in an unknown shape or of an unknown type. Its effect is unknown, so the
 * record cannot be read, and commands on it fail.
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

/** The newest schema of a type that this version of the program reads. */
export function readSchema(upcasters: Upcasters, type: string): number {
  return 1 + (upcasters[type]?.reads.length ?? 0);
}

/** The schema with which events of a type are written; 0 if they are not written yet. */
export function writtenSchema(upcasters: Upcasters, type: string): number {
  const writes = upcasters[type]?.writes;
  if (writes === 'not yet') return 0;
  return readSchema(upcasters, type) - (typeof writes === 'object' ? 1 : 0);
}

/** Converts an event to its newest shape. @throws NewerEvent if this version of the program does not know its schema. */
export function upcast(upcasters: Upcasters, type: string, schema: number, body: EventBody): EventBody {
  if (schema > readSchema(upcasters, type)) throw new NewerEvent(type, schema);
  return (upcasters[type]?.reads ?? []).slice(schema - 1).reduce((read, turn) => turn(read), body);
}

/** An event in the shape in which it is written: the newest or the previous one. @throws if it is not written yet. */
export function asWritten(
  upcasters: Upcasters,
  type: string,
  body: EventBody,
): EventBody & { schema: number } {
  const schema = writtenSchema(upcasters, type);
  if (schema === 0)
    throw new Error(`${type} is not written yet, because the previous release could not read it.`);
  const writes = upcasters[type]?.writes;
  return { schema, ...(typeof writes === 'object' ? writes.asBefore(body) : body) };
}
