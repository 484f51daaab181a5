import { type Projection, RecordTable } from '#libs/projections';
import { organization, type OrganizationEvent } from './organization.js';

const table = new RecordTable(organization, 'organizations', { name: { type: 'text' } }, (state) =>
  state.status === 'standing' ? { name: state.name } : undefined,
);

/** Nobody lists organizations: their rows spare commands and get-organization the whole stream. */
export const organizationsProjection: Projection<OrganizationEvent> = {
  name: 'organizations',
  version: 2,
  handles: ['OrganizationCreated', 'OrganizationUpdated'],
  tables: table.definition,
  apply: (events, transaction) => table.apply(events, transaction),
  get snapshots() {
    return table.snapshots(this);
  },
};
