import { type Issue } from './errors.js';
import { fieldsOf } from './fields.js';
import { mostSimilar } from './similar.js';

/** Our names of fields, and those of other products, without case and punctuation. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  organizationId: ['orgid', 'accountid', 'workspaceid'],
  email: ['emailaddress', 'emailaddresses', 'mail'],
  firstName: ['givenname', 'forename', 'fname'],
  lastName: ['familyname', 'surname', 'lname'],
  phone: ['phonenumber', 'phonenumbers', 'telephone'],
  mobile: ['mobilenumber', 'mobilephone', 'cellphone'],
  address: ['addressline1', 'addresslines', 'streetaddress', 'street'],
  zip: ['zipcode', 'postalcode', 'postcode'],
  city: ['locality', 'town'],
  region: ['state', 'province', 'county'],
  country: ['countrycode'],
  subscribed: ['optin', 'optedin', 'subscriptionstatus', 'emailoptin'],
  customFields: ['attributes', 'mergefields', 'metadata', 'properties', 'fields'],
  externalIds: ['externalid', 'identifiers', 'foreignid'],
  tags: ['addtags', 'labels', 'taglist'],
  listIds: ['lists', 'listid', 'groups'],
  content: ['body', 'html', 'htmlcontent', 'markdown'],
  preheader: ['previewtext', 'preview'],
  sendAt: ['scheduledat', 'scheduledfor', 'sendtime'],
  eventTypes: ['events', 'enabledevents', 'triggers'],
  url: ['endpoint', 'endpointurl', 'callbackurl', 'targeturl'],
  limit: ['pagesize', 'perpage'],
  cursor: ['page', 'pagetoken', 'startingafter', 'offset'],
  q: ['search', 'query'],
};
const OURS = new Map(
  Object.entries(ELSEWHERE).flatMap(([ours, theirs]) => theirs.map((name) => [name, ours] as const)),
);

const LONGEST_PATH = 100;

/** The issue of a field that the input does not have, with the field that was probably meant. */
export function unknownField(type: new () => object, prefix: string, name: string): Issue {
  const meant = namedLike(type, name) ?? within(type, name);
  const similar = meant ?? mostSimilar(name, fieldsOf(type).keys());
  return {
    path: prefix + (name.length > LONGEST_PATH ? `${name.slice(0, LONGEST_PATH)}…` : name),
    message:
      meant !== undefined
        ? `is not known: use ${prefix}${meant}`
        : similar !== undefined
          ? `is not known. Did you mean ${prefix}${similar}?`
          : 'is not a field of this operation',
  };
}

function namedLike(type: new () => object, name: string): string | undefined {
  const plain = letters(name);
  const names = [...fieldsOf(type).keys()];
  return names.find((field) => letters(field) === plain) ?? names.find((field) => field === OURS.get(plain));
}

/** The field of an object in the input, such as `contact.email`. */
function within(type: new () => object, name: string): string | undefined {
  for (const [outer, { nested, schema }] of fieldsOf(type)) {
    if (!nested || schema.type === 'array' || schema.additionalProperties) continue;
    const inner = namedLike(nested(), name);
    if (inner !== undefined) return `${outer}.${inner}`;
  }
  return undefined;
}

/** Makes `first_name` and `FirstName` equal to `firstName`. */
function letters(name: string): string {
  return name.slice(0, LONGEST_PATH).replace(/[_-]/g, '').toLowerCase();
}
