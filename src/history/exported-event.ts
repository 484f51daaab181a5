import { canonical, type RecordedEvent, upcast, type Upcasters, withoutSalt } from '#libs/event-store';
import { personalOf } from './event-record.js';
import { type FieldSchema, recordSchema, textOrNull, timestamp } from '#libs/rpc';

/** An event in the form that can be verified: docs/spec/history-format.md. */
export function exportedEvent(event: RecordedEvent, previousPosition: number) {
  return {
    position: event.position,
    previousPosition,
    organizationId: event.organizationId,
    streamType: event.streamType,
    streamId: event.streamId,
    version: event.version,
    eventId: event.eventId,
    type: event.type,
    schema: event.schema,
    data: event.data,
    personal: personalOf(event),
    encryptedPersonal: event.encryptedPersonal?.toString('base64') ?? null,
    subjectId: event.subjectId,
    metadata: event.metadata,
    recordedAt: event.recordedAt.toISOString(),
    digest: event.digest.toString('hex'),
  };
}

/**
 * A line of an export. Members are in the order above and values in canonical form, so each event has exactly
 * one spelling. Versions up to 0.3.0 wrote the members of values in PostgreSQL's order.
 */
export function exportedLine(event: RecordedEvent, previousPosition: number): string {
  const members = Object.entries(exportedEvent(event, previousPosition));
  return `{${members.map(([name, value]) => `"${name}":${canonical(value)}`).join(',')}}\n`;
}

export const exportedEventSchema: FieldSchema = recordSchema({
  position: { type: 'integer' },
  previousPosition: { type: 'integer' },
  organizationId: { type: 'string' },
  streamType: { type: 'string' },
  streamId: { type: 'string' },
  version: { type: 'integer' },
  eventId: { type: 'string' },
  type: { type: 'string' },
  schema: { type: 'integer' },
  data: { type: 'object' },
  personal: { type: ['object', 'null'], description: 'Readable until the person is erased.' },
  encryptedPersonal: textOrNull,
  subjectId: textOrNull,
  metadata: { type: 'object' },
  recordedAt: timestamp,
  digest: { type: 'string' },
});

/** Parses a line of an export into the event as stored; undefined if it is not an event. */
export function parseExported(line: string): RecordedEvent | undefined {
  try {
    const parsed = JSON.parse(line) as ReturnType<typeof exportedEvent>;
    const { previousPosition, encryptedPersonal, recordedAt, digest, ...event } = parsed;
    if (typeof event.streamId !== 'string' || typeof event.type !== 'string') return undefined;
    return {
      ...event,
      encryptedPersonal: encryptedPersonal === null ? null : Buffer.from(encryptedPersonal, 'base64'),
      recordedAt: new Date(recordedAt),
      digest: Buffer.from(digest, 'hex'),
    };
  } catch {
    return undefined;
  }
}

/** Upcasts the event to its newest shape. @throws NewerEvent if only a later version knows the shape. */
export function inNewestShape(event: RecordedEvent, upcasters: Upcasters): RecordedEvent {
  const { type, schema, data } = event;
  const personal = withoutSalt(event.personal ?? null);
  return { ...event, ...upcast(upcasters, type, schema, { data, personal }) };
}

/** Parses and upcasts a line. @throws NewerEvent */
export function readExported(line: string, upcasters: Upcasters): RecordedEvent | undefined {
  const event = parseExported(line);
  return event && inNewestShape(event, upcasters);
}
