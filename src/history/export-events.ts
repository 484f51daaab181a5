import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Commands } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { writeNdjson } from '#libs/records';
import { Input, Integer, Operation, StreamedAnswer } from '#libs/rpc';
import { recordAccess } from './access.js';
import { exportedEvent, exportedEventSchema } from './exported-event.js';

/** Events of one query, and of one chunk of the answer, at most. */
const PAGE = 1_000;
/** Between two looks at a horizon that an append under way holds back. */
const HORIZON_PAUSE_MS = 5;

@Operation({
  method: 'GET',
  name: 'event.export-events',
  object: 'events',
  summary: 'Export the history',
  description:
    'All events up to now, oldest first, one a line, in the form that can be verified without this server. To go ' +
    'on where an export ended, give the position of its last whole line as `after`. An answer that ends without ' +
    'its last chunk (RFC 9112, section 8) is not whole. The export is itself recorded, as its last event.',
  answers: exportedEventSchema,
  answerTypes: ['application/x-ndjson'],
})
export class ExportEvents extends Input {
  @Integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Only events after this position.',
  })
  after!: number;

  /** Told after each page how many events there were, how far it is, and where it ends. Not a field. */
  onProgress?: (events: number, position: number, upTo: number) => void;
}

@QueryHandler(ExportEvents)
export class ExportEventsHandler implements IQueryHandler<ExportEvents> {
  constructor(
    private readonly commands: Commands,
    private readonly store: EventStore,
  ) {}

  async execute({ onProgress, ...asked }: ExportEvents): Promise<StreamedAnswer> {
    const query = Object.assign(new ExportEvents(), asked);
    await recordAccess(this.commands, this.store, query);
    // With its own record, so that a checkpoint made right after it has no event that the export lacks.
    const last = await this.store.lastPosition();
    let upTo = await this.store.horizon();
    for (; upTo < last; upTo = await this.store.horizon()) await sleep(HORIZON_PAUSE_MS);
    return new StreamedAnswer('application/x-ndjson', 'events.ndjson', this.write(query, upTo, onProgress));
  }

  private async *write(
    { organizationId, after }: ExportEvents,
    upTo: number,
    onProgress: ExportEvents['onProgress'],
  ): AsyncGenerator<string> {
    let previous = after === 0 ? 0 : await this.store.previousPosition(organizationId, after + 1);
    let exported = 0;
    for (let position = after; ;) {
      const { events, hasMore } = await this.store.readHistory(
        organizationId,
        { after: position, upTo },
        PAGE,
        {},
        'export',
      );
      const lines = events.map((event) => {
        const line = exportedEvent(event, previous);
        previous = event.position;
        return line;
      });
      if (lines.length > 0) yield writeNdjson(lines);
      exported += lines.length;
      position = events.at(-1)?.position ?? upTo;
      onProgress?.(exported, position, upTo);
      if (!hasMore) return;
    }
  }
}
