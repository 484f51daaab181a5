import { type Projection, RecordTable } from '#libs/projections';
import { publicLog, type PublicLogEvent } from './public-log.js';

const table = new RecordTable(publicLog, 'public_logs', {}, () => ({}));

/** Nobody lists them: a row spares whoever asks for a log the whole stream of its being published and not. */
export const publicLogsProjection: Projection<PublicLogEvent> = {
  name: 'public-logs',
  version: 1,
  handles: ['LogPublished', 'LogUnpublished'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};
