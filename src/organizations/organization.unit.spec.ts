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

it('is created with a name alone', () => {
  given(organization, [])
    .when(() => createOrganization('Rivers'))
    .then([created]);
  expect(organization.evolve(organization.initial, created, new Date(0))).toEqual({
    status: 'standing',
    slug: null,
    colour: null,
    imageId: null,
    privacyUrl: null,
    name: 'Rivers',
    website: null,
    email: null,
    country: null,
  });
});

it('keeps what an update does not name, and records only what differs', () => {
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

it('refuses to be read before it was created', () => {
  given(organization, [])
    .when((state) => {
      existingOrganization(state);
      return [];
    })
    .thenThrows('NOT_FOUND');
});

it('publishes its log and takes it back, and records nothing where nothing changes', () => {
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

it('writes as whom it is told to, and records only what differs', () => {
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
