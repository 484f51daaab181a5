import { changedFields } from '#libs/commands';
import { given } from '#libs/testing';
import {
  createOrganization,
  organization,
  type OrganizationEvent,
  type OrganizationFields,
  existingOrganization,
} from './organization.js';
import { publicLog, publishLog } from './public-log.js';
import { sender, updateSender } from './sender.js';

const created: OrganizationEvent = { type: 'OrganizationCreated', data: { name: 'Rivers' } };
const updated = (data: Partial<OrganizationFields>): OrganizationEvent => ({
  type: 'OrganizationUpdated',
  data,
});

it('can be created with only a name', () => {
  given(organization, [])
    .when(() => createOrganization('Rivers'))
    .then([created]);
  expect(organization.evolve(organization.initial, created, new Date(0))).toEqual({
    status: 'standing',
    slug: null,
    colour: null,
    imageId: null,
    privacyUrl: null,
    timeZone: 'UTC',
    name: 'Rivers',
    website: null,
    email: null,
    country: null,
  });
});

it('records only the changed fields of an update', () => {
  given(organization, [created, updated({ website: 'w', country: 'c' }), updated({ website: null })])
    .when((state) => {
      const data = changedFields<OrganizationFields>(existingOrganization(state), {
        name: 'Rivers',
        website: null,
        country: 'd',
      });
      return data ? [updated(data)] : [];
    })
    .then([updated({ country: 'd' })]);
});

it('throws when read before it was created', () => {
  given(organization, [])
    .when((state) => {
      existingOrganization(state);
      return [];
    })
    .thenThrows('NOT_FOUND');
});

it('publishes and unpublishes its log, and records nothing if nothing changes', () => {
  const [published, unpublished] = [
    { type: 'LogPublished', data: {} },
    { type: 'LogUnpublished', data: {} },
  ] as const;
  const decide = (isPublic?: boolean) => (state: typeof publicLog.initial) => publishLog(state, isPublic);
  given(publicLog, []).when(decide(true)).then([published]);
  given(publicLog, []).when(decide(false)).then([]);
  given(publicLog, [published]).when(decide(true)).then([]);
  given(publicLog, [published]).when(decide()).then([]);
  given(publicLog, [published]).when(decide(false)).then([unpublished]);
  given(publicLog, [published, unpublished]).when(decide(true)).then([published]);
});

it('sets its sender, and records only the changed fields', () => {
  const mailFrom = { name: 'Rivers', address: 'news@rivers.example' };
  const named = { type: 'SenderUpdated', data: { mailFrom, language: 'de' } } as const;
  given(sender, [])
    .when((state) => updateSender(state, { mailFrom, language: 'de', replyTo: null }))
    .then([named]);
  given(sender, [named])
    .when((state) =>
      updateSender(state, { mailFrom: { address: mailFrom.address, name: 'Rivers' }, language: 'de' }),
    )
    .then([]);
  given(sender, [named])
    .when((state) => updateSender(state, { mailFrom: null }))
    .then([{ type: 'SenderUpdated', data: { mailFrom: null } }]);
});
