import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStore, type RecordedEvent } from '#libs/event-store';
import { Flag, Input, Integer, Operation, StreamedAnswer } from '#libs/rpc';
import { REGISTER } from '#libs/sealing';
import { HistoryReads } from './history-reads.js';
import { exportedEventSchema, exportedLine } from './exported-event.js';

/** Maximum events per query and per chunk of the response. */
const PAGE = 1_000;
/** The delay between checks of a horizon that an append in progress holds back. */
const HORIZON_PAUSE_MS = 5;

@Operation({
  name: 'history.export-events',
  summary: 'Export the history',
  description:
    'Streams all events recorded so far, oldest first, one per line, in a format that can be verified ' +
    'without this server. To resume an interrupted export, send the position of its last complete line as ' +
    '`after`. A response without its last chunk (RFC 9112, section 8) is incomplete. The export itself is ' +
    'recorded as its last event. If a person is erased during the export, the export also contains all ' +
    'events up to that erasure.',
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

  @Flag({
    default: false,
    description:
      'Export the register of the checkpoints of all organizations instead. It names none of them.',
  })
  register!: boolean;

  /** Called after each page with the number of events, the position reached and the last position. Not a field. */
  onProgress?: (events: number, position: number, upTo: number) => void;
}

@QueryHandler(ExportEvents)
export class ExportEventsHandler implements IQueryHandler<ExportEvents> {
  constructor(
    private readonly store: EventStore,
    private readonly reads: HistoryReads,
  ) {}

  async execute({ onProgress, ...fields }: ExportEvents): Promise<StreamedAnswer> {
    const query = Object.assign(new ExportEvents(), fields);
    // The command line exports the register as that of an organization. Its history only contains checkpoints.
    if (query.organizationId !== REGISTER) await this.reads.record(query);
    if (query.register) query.organizationId = REGISTER;
    // Includes its own record, so that a checkpoint taken right after it contains no event that the export lacks.
    const upTo = await this.store.lastPosition();
    await this.untilComplete(upTo);
    return new StreamedAnswer('application/x-ndjson', 'events.ndjson', this.write(query, upTo, onProgress));
  }

  private async *write(
    { organizationId, after }: ExportEvents,
    last: number,
    onProgress: ExportEvents['onProgress'],
  ): AsyncGenerator<string> {
    let previous = after === 0 ? 0 : await this.store.previousPosition(organizationId, after + 1);
    let exported = 0;
    for (let position = after, upTo = last; ;) {
      const { events, hasMore } = await this.store.readHistory(
        organizationId,
        { after: position, upTo },
        PAGE,
        {},
        'export',
      );
      let lines = '';
      for (const event of events) {
        lines += exportedLine(event, previous);
        previous = event.position;
      }
      if (lines !== '') yield lines;
      exported += events.length;
      position = hasMore ? previous : upTo;
      // Includes erasures that happen during the export. Otherwise, the data of erased people would seem lost.
      const erasedAt = await this.store.lastPositionOf(organizationId, unreadableSubjects(events));
      if (erasedAt > upTo) {
        upTo = erasedAt;
        await this.untilComplete(upTo);
      }
      onProgress?.(exported, position, upTo);
      if (position >= upTo) return;
    }
  }

  private async untilComplete(upTo: number): Promise<void> {
    while ((await this.store.horizon()) < upTo) await sleep(HORIZON_PAUSE_MS);
  }
}

function unreadableSubjects(events: readonly RecordedEvent[]): string[] {
  const subjects = new Set<string>();
  for (const { encryptedPersonal, personal, subjectId } of events) {
    if (encryptedPersonal && !personal && subjectId !== null) subjects.add(subjectId);
  }
  return [...subjects];
}
