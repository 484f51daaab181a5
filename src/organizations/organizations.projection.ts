import { type Projection, RecordTable } from '#libs/projections';
import { organization, type OrganizationEvent } from './organization.js';

const table = new RecordTable(organization, 'organizations', { name: { type: 'text' } }, (state) =>
  state.status === 'standing' ? { name: state.name } : undefined,
);

/**
 * Not listed anywhere. A row lets commands and get-organization read the current state without loading the
 * stream.
 */
export const organizationsProjection: Projection<OrganizationEvent> = {
  name: 'organizations',
  version: 3,
  handles: ['OrganizationCreated', 'OrganizationUpdated'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};
