import { type Projection, RecordTable } from '#libs/projections';
import { sender, type SenderEvent } from './sender.js';

const table = new RecordTable(sender, 'senders', {}, () => ({}));

/** Not listed anywhere. A row lets senders of email read the current state without loading the stream. */
export const sendersProjection: Projection<SenderEvent> = {
  name: 'senders',
  version: 1,
  handles: ['SenderUpdated'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};
