import { type Decider } from '#libs/event-store';

export type OrganizationEvent = { type: 'OrganizationCreated'; data: { name: string } };

export type Organization = { status: 'unknown' } | { status: 'standing'; name: string };

export const organization: Decider<Organization, OrganizationEvent> = {
  streamType: 'organization',
  initial: { status: 'unknown' },
  evolve(_state, event) {
    switch (event.type) {
      case 'OrganizationCreated':
        return { status: 'standing', name: event.data.name };
    }
  },
};

export function createOrganization(name: string): OrganizationEvent[] {
  return [{ type: 'OrganizationCreated', data: { name } }];
}
