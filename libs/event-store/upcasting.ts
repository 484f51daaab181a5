import { type JsonObject } from './event.js';

/** What an event says, apart from when and by whom. */
export type EventBody = { data: JsonObject; personal: JsonObject | null };

/**
 * How old shapes of events are read, by type: the first turns schema 1 into schema 2, the next 2 into 3, …
 * New events are written with the last schema. `personal` is null also where the person was erased.
 */
export type Upcasters = { readonly [type: string]: readonly ((body: EventBody) => EventBody)[] };

/** The schema that events of a type are written with. */
export function currentSchema(upcasters: Upcasters, type: string): number {
  return 1 + (upcasters[type]?.length ?? 0);
}

/** @throws when the event has a schema that this version of the program does not know yet. */
export function upcast(upcasters: Upcasters, type: string, schema: number, body: EventBody): EventBody {
  const current = currentSchema(upcasters, type);
  if (schema > current) {
    throw new Error(`${type} has schema ${schema}; this version knows ${current}: run a newer one.`);
  }
  return (upcasters[type] ?? []).slice(schema - 1).reduce((read, turn) => turn(read), body);
}
