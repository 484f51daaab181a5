import {
  type DomainEvent,
  isObject,
  type JsonObject,
  type Metadata,
  type RecordedEvent,
  type Seal,
} from './event.js';
import { type Keyring } from './keyring.js';
import { sealValue, withoutSalt } from './personal-data.js';
import { readSchema, upcast, type Upcasters } from './upcasting.js';

/** A row of `events`, with the wrapped key of its personal data. */
export type EventRow = {
  position: string;
  organization_id: string;
  stream_type: string;
  stream_id: string;
  version: number;
  event_id: string;
  type: string;
  schema: number;
  data: JsonObject;
  personal: Buffer | null;
  subject_id: string | null;
  metadata: Metadata;
  recorded_at: Date;
  digest: Buffer;
  wrapped_key: Buffer | null;
};

/** A key was altered or exchanged, or its master key is not configured here. The message contains no personal data. */
export class UnreadablePersonalData extends Error {
  readonly event: Pick<RecordedEvent, 'position' | 'organizationId' | 'streamId' | 'type'>;

  constructor({ position, organization_id, stream_id: streamId, type }: EventRow, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const where = `position ${position} of organization ${organization_id}`;
    super(`The personal data at ${where} cannot be decrypted: ${reason.replace(/\.$/, '')}`, { cause });
    this.event = { position: Number(position), organizationId: organization_id, streamId, type };
  }
}

/** Converts rows to events. Decrypts personal data unless its subject was erased, and upcasts to the newest shape. */
export class EventRows {
  /** The keys of events with personal data, for as long as the events are referenced. */
  private readonly subjectKeys = new WeakMap<RecordedEvent, Buffer>();

  constructor(
    private readonly keyring: Keyring,
    private readonly upcasters: Upcasters,
  ) {}

  /**
   * Converts rows to events in the newest shape. Damaged data stays as it is (see `isKnown`).
   *
   * @throws NewerEvent if an event has a shape that this version of the program does not know.
   */
  read<Event extends DomainEvent>(rows: EventRow[]): RecordedEvent<Event>[] {
    return this.decrypt<Event>(rows).map((event) => {
      const { type, schema, data, personal = null } = event;
      if (schema <= this.readSchema(type) && (!this.upcasters[type] || !isObject(data))) return event;
      const upcasted = { ...event, ...upcast(this.upcasters, type, schema, { data, personal }) };
      const key = this.subjectKeys.get(event);
      if (key) this.subjectKeys.set(upcasted, key);
      return upcasted;
    });
  }

  /**
   * The same in the stored shape, which the digests cover. Personal data that was altered is null, so that auditors can
   * read the history that they have to prove wrong.
   */
  readStored(rows: EventRow[]): RecordedEvent[] {
    return this.decrypt(rows, () => null);
  }

  /** The newest schema of a type that this version of the program reads. */
  readSchema(type: string): number {
    return readSchema(this.upcasters, type);
  }

  /**
   * The events in known shapes whose personal data can be read, and the first row that is left: of a newer shape, or
   * damaged. One altered key must not stop the work for everyone.
   *
   * @param onUnreadable is called for each event that is left because its personal data cannot be decrypted.
   */
  readable(
    rows: EventRow[],
    onUnreadable: (error: UnreadablePersonalData) => void,
  ): { events: RecordedEvent[]; left: EventRow | undefined } {
    const isLeft = ({ type, schema, data }: EventRow) => schema > this.readSchema(type) || !isObject(data);
    const left = rows.find(isLeft);
    const known = left ? rows.filter((row) => !isLeft(row)) : rows;
    try {
      return { events: this.read(known), left };
    } catch (error) {
      if (!(error instanceof UnreadablePersonalData)) throw error;
    }
    const events = known.flatMap((row) => {
      try {
        return this.read([row]);
      } catch (error) {
        if (!(error instanceof UnreadablePersonalData)) throw error;
        onUnreadable(error);
        return [];
      }
    });
    return { events, left };
  }

  /** Only for events with personal data that this instance has read. */
  readonly seal: Seal = (event, name, value) => {
    const key = this.subjectKeys.get(event);
    if (!key) throw new Error(`The event at position ${event.position} has no personal data to seal.`);
    return sealValue(key, name, value);
  };

  /**
   * @param unreadable replaces personal data that cannot be decrypted, and keeps the salt of the rest. Without it, such data
   *   throws, and the salt is left out.
   */
  private decrypt<Event extends DomainEvent>(
    rows: EventRow[],
    unreadable?: () => null,
  ): RecordedEvent<Event>[] {
    const keys = new Map<string, Buffer>();
    return rows.map((row) => {
      let personal: JsonObject | null = null;
      let key: Buffer | undefined;
      if (row.personal && row.subject_id && row.wrapped_key) {
        try {
          const { subject_id: subjectId, wrapped_key: wrapped } = row;
          const keyOf = () => keys.get(subjectId) ?? this.keyring.unwrap(wrapped, subjectId);
          ({ key, personal } = this.keyring.personalData.decrypt(keyOf, row.personal, row.event_id));
          keys.set(subjectId, key);
        } catch (error) {
          if (!unreadable) throw new UnreadablePersonalData(row, error);
          personal = unreadable();
        }
      }
      const event: RecordedEvent = {
        position: Number(row.position),
        organizationId: row.organization_id,
        streamType: row.stream_type,
        streamId: row.stream_id,
        version: row.version,
        eventId: row.event_id,
        type: row.type,
        schema: row.schema,
        data: row.data,
        personal: unreadable ? personal : withoutSalt(personal),
        subjectId: row.subject_id,
        encryptedPersonal: row.personal,
        metadata: row.metadata,
        recordedAt: row.recorded_at,
        digest: row.digest,
      };
      if (personal && key) this.subjectKeys.set(event, key);
      // The store does not know its callers' event types. Callers read what they appended to the stream.
      return event as RecordedEvent<Event>;
    });
  }
}
