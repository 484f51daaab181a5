import { type Projection, RecordTable } from '#libs/projections';
import { publicLog, type PublicLogEvent } from './public-log.js';

const table = new RecordTable(publicLog, 'public_logs', {}, () => ({}));

/** Not listed anywhere. A row lets requests for a log read the current state without loading the stream. */
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
