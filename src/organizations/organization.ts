import { changedFields } from '#libs/commands';
import { type Decider, type Upcasters } from '#libs/event-store';
import { RpcError } from '#libs/rpc';

export type OrganizationFields = {
  name: string;
  website: string | null;
  email: string | null;
  country: string | null;
  /** The first part of the path of its pages; null: none. */
  slug: string | null;
  /** `#rrggbb` */
  colour: string | null;
  imageId: string | null;
  privacyUrl: string | null;
  /** IANA name. */
  timeZone: string;
};

export type OrganizationEvent =
  | { type: 'OrganizationCreated'; data: { name: string } }
  | { type: 'OrganizationUpdated'; data: Partial<OrganizationFields> };

/** The first organizations had no pages, and later ones no time zone. */
export const organizationShapes: Upcasters = {
  OrganizationUpdated: { reads: [(body) => body, (body) => body], writes: 'newest' },
};

const WITHOUT_PAGE = { slug: null, colour: null, imageId: null, privacyUrl: null };

export type ExistingOrganization = OrganizationFields & { status: 'standing' };
export type Organization = { status: 'unknown' } | ExistingOrganization;

export const organization: Decider<Organization, OrganizationEvent> = {
  streamType: 'organization',
  initial: { status: 'unknown' },
  events: { OrganizationCreated: true, OrganizationUpdated: true },
  evolve(state, event) {
    switch (event.type) {
      case 'OrganizationCreated':
        return {
          status: 'standing',
          name: event.data.name,
          website: null,
          email: null,
          country: null,
          ...WITHOUT_PAGE,
          timeZone: 'UTC',
        };
      case 'OrganizationUpdated':
        return state.status === 'unknown' ? state : { ...state, ...event.data };
    }
  },
};

export function createOrganization(name: string): OrganizationEvent[] {
  return [{ type: 'OrganizationCreated', data: { name } }];
}

/** @throws RpcError NOT_FOUND before the organization was created. A key's organization exists today. */
export function existingOrganization(state: Organization): ExistingOrganization {
  if (state.status === 'unknown') {
    throw new RpcError('NOT_FOUND', 'This organization does not exist.');
  }
  return state;
}

/** Fields that are not given stay unchanged. */
export function updateOrganization(
  state: Organization,
  given: Partial<OrganizationFields>,
): OrganizationEvent[] {
  const data = changedFields<OrganizationFields>(existingOrganization(state), given);
  return data ? [{ type: 'OrganizationUpdated', data }] : [];
}
