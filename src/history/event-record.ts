import {
  type Actor,
  isObject,
  type JsonObject,
  type RecordedEvent,
  WITHHELD,
  withoutSalt,
} from '#libs/event-store';
import { actorSchema, recordSchema, timestamp } from '#libs/rpc';

/** An event as the API returns it. */
export type EventRecord = {
  id: string;
  position: number;
  type: string;
  recordType: string;
  recordId: string;
  version: number;
  occurredAt: Date;
  requestId: string;
  actor: Actor;
  data: JsonObject | null;
};

export const eventSchema = recordSchema({
  id: { type: 'string' },
  position: { type: 'integer', description: "The event's position in the order of all events." },
  type: { type: 'string', example: 'PetitionSigned' },
  recordType: { type: 'string', example: 'signature' },
  recordId: { type: 'string' },
  version: { type: 'integer', description: "The event's position in the history of its record: 1, 2, …" },
  occurredAt: timestamp,
  requestId: {
    type: 'string',
    format: undefined,
    description:
      'The request that caused the event. Contains its X-Request-Id if that is a UUID, a ULID or 32 hexadecimal ' +
      'digits; otherwise a keyed hash of it, `h_…`. The filter `requestId` accepts both.',
  },
  actor: actorSchema,
  data: {
    type: ['object', 'null'],
    description:
      "`personal` contains a person's data and is null once the person is erased. The whole field is null if the " +
      'stored value was altered and is not an object; the export contains that value.',
  },
});

export function eventRecord(event: RecordedEvent): EventRecord {
  const { eventId, streamType, streamId, metadata } = event;
  const data = isObject(event.data) ? withoutSecrets(event.data) : null;
  return {
    id: eventId,
    position: event.position,
    type: event.type,
    recordType: streamType,
    recordId: streamId,
    version: event.version,
    occurredAt: event.recordedAt,
    requestId: metadata.requestId,
    actor: metadata.actor,
    data: data && event.encryptedPersonal ? { ...data, personal: withoutSalt(personalOf(event)) } : data,
  };
}

function withoutSecrets(data: JsonObject): JsonObject {
  if (!WITHHELD.some((name) => name in data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !WITHHELD.includes(name)));
}

/** Separates the personal data of an event. `personal` is undefined if the event never had any. */
export function withoutPersonal({ personal, ...data }: JsonObject): {
  data: JsonObject;
  personal: JsonObject | null | undefined;
} {
  return { data, personal: personal === null || isObject(personal) ? personal : undefined };
}

/** Belongs to a person or a key. Not covered by a digest, because it must be erasable. */
export function personalOf({ personal = null }: RecordedEvent): JsonObject | null {
  return personal && withoutSecrets(personal);
}
