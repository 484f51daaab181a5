import { type Projection, RecordTable } from '#libs/projections';
import { sender, type SenderEvent } from './sender.js';

const table = new RecordTable(sender, 'senders', {}, () => ({}));

/** Nobody lists them: a row spares whoever writes for an organization the whole stream. */
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
