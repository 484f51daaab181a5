import { formatNumber } from '#libs/pages';
import { type OwnReason } from '#libs/rpc';
import { type Role } from '../../team/index.js';
import { type Section } from '../sections.js';
import { faultIn } from './faults.js';

const FAULTS = {
  required: 'Fill this in',
  tooLong: (most: string) => `Use at most ${most} characters`,
  email: 'Enter an e-mail address like name@example.org',
  webAddress: 'Enter an address that begins with https://',
  publicAddress: 'Enter an address on the Internet that begins with https://',
  asciiAddress: 'Enter an address with plain letters alone before the @: none like ä or ñ',
  slug: 'Use small letters, digits, and hyphens between them',
  ownSlug: 'This server has a page of its own there: choose another',
  looksLikeId: 'Use words: this looks like a number of ours',
  colour: 'Enter a colour like #0b57d0',
  wholeNumber: (least: string, most: string) => `Enter a whole number from ${least} to ${most}`,
  choice: 'Choose one',
  some: 'Choose at least one',
  noFile: 'Choose a file',
  laterFile: 'Many tables are being imported already: wait until some of them are finished',
  noPicture: 'This is no picture that can be used: choose a JPEG, PNG, WebP, AVIF or GIF',
  brokenPicture: 'This picture is damaged, or has too many pixels',
  largePicture: 'This picture is larger than 15 MiB: choose a smaller one',
  time: 'Enter a day and a time',
  future: 'Choose a moment that is still to come',
  sameColumn: 'Another column is that already',
  noAddresses: 'One of the columns must be the e-mail address',
  yesOrNo: 'Write yes or no',
  tooMany: (most: string) => `Name at most ${most}`,
  names: 'Names have a few words, and no more than 200 characters',
  excelFile: 'This is an Excel file: save it as CSV',
  noHeader: 'The first line must name the columns: here an e-mail address stands in it',
  endlessRow: (line: string) =>
    `The row that begins in line ${line} cannot be read: a quotation mark is not closed, or stands in the middle of a cell, or the row is far too long`,
  noTable: 'This is no table that can be read: save it as CSV',
  tooWide: 'This table has more than 200 columns: leave out those that nobody needs',
  noLines: 'There is nothing under the names of the columns',
  atLeast: (least: string) => `Enter a whole number, at least ${least}`,
  range: 'Enter an address like 192.0.2.7, or a network like 192.0.2.0/24',
  noSubject: 'Write a subject',
  noText: 'Write a text',
  noSender: 'Your organization has no sender address yet: enter it under “Organization”',
  noPostalAddress: 'Your organization has no postal address yet: enter it under “Organization”',
  nobody: 'Nobody would get it: “Who gets it” says why',
  mergeField: (fields: string, known: string) => `There is no such field: ${fields}. There are: ${known}`,
  templateUnclosed: (what: string, line: string) =>
    `The braces {{ … }} and {% … %} do not fit together: “${what}” in line ${line} has no end`,
  templateTag: (tag: string, line: string) =>
    `In line ${line} stands {% ${tag} %}, which does not exist, or has no beginning`,
  templateFilter: (filter: string, line: string) =>
    `In line ${line} stands “| ${filter}”, which does not exist`,
  templateTooLong: 'Making the mail takes too long: use fewer loops {% for … %}',
  templateTooMuch: (most: number) =>
    `The text has more than ${formatNumber('en-GB', most)} fields or marks of one kind: shorten it`,
  templateLine: (line: string) => `What stands in braces in line ${line} cannot be understood`,
  template: 'What stands in braces cannot be understood',
  noContact: 'No contact has this address. Add the contact first',
  other: (why: string) => `This ${why}`,
};

/** What is on more than one page, or on none of a section. */
export const en = {
  locale: 'en',
  /** By whose customs dates and numbers are written. */
  dates: 'en-GB',
  name: 'Dashboard',
  skip: 'Skip to the content',
  navigation: 'Dashboard',
  menu: 'Menu',
  back: 'Back',
  cancel: 'No, go back',
  signOut: 'Sign out',
  account: 'Your account',
  sections: {
    overview: 'Overview',
    petitions: 'Petitions',
    contacts: 'Contacts',
    lists: 'Lists',
    tags: 'Tags',
    broadcasts: 'Broadcasts',
    suppressions: 'Blocked addresses',
    posts: 'Posts',
    images: 'Pictures',
    team: 'Team',
    organization: 'Organization',
    keys: 'API keys',
    webhooks: 'Webhooks',
    outbox: 'Outbox',
    history: 'History',
    workings: 'Workings',
  } satisfies Record<Section, string> as Record<Section, string>,
  email: 'E-mail address',
  role: 'Role',
  since: 'Since',
  until: 'Until',
  made: 'Made',
  changed: 'Changed',
  state: 'State',
  nameOf: 'Name',
  optional: 'optional',
  save: 'Save',
  yes: 'Yes',
  no: 'No',
  search: 'Search',
  all: 'All',
  nothingFound: 'Nothing found. Try fewer or other words.',
  showAll: 'Show all',
  found: 'found',
  foundNone: 'Nothing found',
  foundSome: (many: string) => `${many} found`,
  foundMore: (many: string) => `More than ${many} found`,
  exportList: 'Download as a table (CSV)',
  pages: 'Pages',
  firstPage: 'First page',
  quoted: (text: string) => `“${text}”`,
  further: 'next page',
  nextPage: 'Next page',
  oldestFirst: 'Oldest first',
  newestFirst: 'Newest first',
  asTable: 'Show as a table',
  copy: 'Copy',
  copied: 'Copied',
  away: 'The server does not answer at the moment: what you see may be out of date.',
  ofAll: (some: string, all: string) => `${some} of ${all}`,
  plotSummary: (plot: {
    title: string;
    from: string;
    to: string;
    total: string;
    highest: string;
    most: string;
  }) =>
    `${plot.title}, ${plot.from} to ${plot.to}: ${plot.total} together, most of them ${plot.highest} (${plot.most})`,
  live: {
    going: 'This page looks again by itself.',
    held: 'This page is held still.',
    hold: 'Hold this page still',
    goOn: 'Keep this page up to date',
  },
  roles: {
    OWNER: { name: 'Owner', may: 'everything, also making others owners' },
    ADMIN: { name: 'Administrator', may: 'everything but what concerns owners' },
    EDITOR: { name: 'Editor', may: 'contacts, petitions, posts, lists, pictures and broadcasts' },
    VIEWER: { name: 'Viewer', may: 'look at all of that, and change nothing' },
    AUDITOR: { name: 'Auditor', may: 'check the history' },
  } satisfies Record<Role, { name: string; may: string }> as Record<Role, { name: string; may: string }>,
  faults: {
    title: 'Please look at this once more',
    prefix: 'Error: ',
    email: FAULTS.email,
  },
  faultOf: (why: string) => faultIn(FAULTS, why),
  /** Why something was not done, by the reason that the operation gives. */
  reasons: {
    EMAIL_TAKEN: 'Another contact has this e-mail address.',
    PETITION_NOT_PUBLISHED: 'The petition is a draft. Publish it first.',
    PETITION_CLOSED: 'The petition is closed. Open it again first.',
    PETITION_PUBLISHED: 'The petition is open. Close it first.',
    POST_NOT_PUBLISHED: 'The post is a draft. Publish it first, or delete it.',
    BROADCAST_BEGUN: 'As it is with the broadcast now, this cannot be done. Its page shows what can.',
    BROADCAST_NOT_SENDING: 'The broadcast is not being sent.',
    BROADCAST_NOT_READY: 'The broadcast cannot be sent as it is.',
    SLUG_TAKEN: 'Another page has this address, or had it within the last year. Choose another.',
    KEY_ENDED: 'This key was revoked or has expired. Make a new one.',
    KEY_ROTATED: 'This key has a successor already.',
    KEY_LIMIT_REACHED: 'Your organization has as many keys as it may have. Revoke one that is not needed.',
    KEY_EXCEEDS_YOURS: 'This key may do more than you. Ask somebody who may as much.',
    ROLE_EXCEEDS_YOURS: 'This role may do more than yours. Ask somebody who has it.',
    IMAGE_SHOWN: 'The picture is shown somewhere. Take it out there first, or here everywhere at once.',
    ALREADY_MEMBER: 'This person is in your team already.',
    INVITATION_ACCEPTED: 'The invitation was accepted meanwhile. Remove the person from the team instead.',
    LAST_OWNER: 'An organization keeps its last owner. Make somebody else an owner first.',
    WEBHOOK_LIMIT_REACHED:
      'Your organization has as many webhooks as it may have. Delete one that is not needed.',
    NOT_SEALED: 'The history does not lead to what was signed before. Tell who runs this service.',
  } satisfies Record<OwnReason, string> as Record<string, string>,
  past: {
    title: 'What has happened',
    changed: (what: string, fields: string) => `${what}: ${fields}`,
    all: 'Look it up in the history',
    more: 'There is more.',
    older: 'What was before',
    newest: 'Back to the newest',
    actors: {
      user: 'somebody who was in the team',
      'api-key': 'an API key',
      system: 'the system',
      public: 'somebody on the public page',
    },
  },
  signIn: {
    title: 'Sign in',
    text: 'We send you a link by e-mail. There is no password.',
    written:
      'You come in by a link. This server has no mail server: it writes the link into a file. There is no password.',
    hint: 'The one that you were invited with.',
    button: 'Send me a link',
  },
  sent: {
    again: 'The address was wrong? Enter another',
    title: 'Check your mail',
    text: (minutes: number) =>
      `If somebody has invited you with this address, a link is on its way. It works for ${minutes} minutes.`,
    hint: 'Nothing there after a few minutes? Look into your spam folder, or ask whoever invited you.',
  },
  /** In place of that, where there is no mail server. */
  written: {
    title: 'This server sends no mail',
    text: (minutes: number) =>
      `It writes mail into files, in the folder “mail” of its data (DATA_DIR). If somebody has invited you with this address, one with a link is there in a moment. It works for ${minutes} minutes.`,
    elsewhere: 'Ask whoever runs this server for the link.',
    folder: (folder: string) =>
      `You are on its machine: the folder is ${folder}. The link is in the newest file in it, or in one of the folders in it.`,
    command: 'Or print a link that lets you in, with the id of your organization and your address:',
  },
  enter: { title: 'Sign in', text: 'One more step: the link works once.', button: 'Sign in' },
  invitation: {
    title: (organization: string) => `You are invited to ${organization}`,
    text: (role: string) => `You would be: ${role}.`,
    button: 'Accept the invitation',
  },
  organizations: { title: 'Your organizations', text: 'Where do you want to work?' },
  nowhere: {
    title: 'You are in no organization',
    text: 'Ask whoever works there to invite you; then use the link in that mail.',
  },
  insecure: {
    title: 'This connection is not secure',
    text: 'People sign in by HTTPS alone. Open this page with an address that begins with https://.',
  },
  sessions: {
    who: (name: string) => `You are signed in as ${name}.`,
    title: 'Where you are signed in',
    text: 'End what you do not know.',
    this: 'this one',
    seen: (date: string) => `last seen ${date}`,
    end: (browser: string) => `Sign out ${browser}`,
  },
  done: {
    again: 'You were signed out: your time was over, or your role was changed. Please sign in again.',
    sessionEnded: 'That session is ended.',
    signedOut: 'You are signed out.',
  },
  passkeys: {
    title: 'Passkeys',
    text: 'With a passkey you sign in with your finger, your face or the PIN of your device, without a mail.',
    none: 'You have none yet.',
    add: 'Add a passkey',
    made: (date: string) => `added ${date}`,
    used: (date: string) => `last used ${date}`,
    remove: 'Remove',
    removeOf: (name: string) => `Remove the passkey of ${name}`,
    removing: 'Nobody signs in with it from then on. Your device may go on showing it: remove it there, too.',
    signIn: 'Sign in with a passkey',
    or: 'Or with a passkey',
    refused: 'That did not work. Load the page again and try once more, or use a link by mail.',
    failed: 'Your device did not do it. Try again, or use a link by mail.',
    done: { added: 'The passkey is added: you can sign in with it.', removed: 'The passkey is removed.' },
  },
  changedMeanwhile:
    'Somebody has changed this meanwhile. Look at it in another window; saved again, what stands here counts.',
  signedOut: {
    title: 'You are signed out',
    text: 'Nothing was done, and what you typed is still here: sign in in a new window, then load this page again, and let your browser send the form once more.',
    link: 'Sign in in a new window',
  },
  badLink: {
    title: 'This link does not work',
    text: 'It was used already, or its time is over. Ask for another one.',
  },
  notFound: {
    title: 'There is nothing here',
    text: 'The address may be mistyped, or what was here is gone.',
  },
  badAddress: {
    title: 'This address says something that we do not understand',
    text: 'Go back and try again from there.',
  },
  forbidden: {
    title: 'Your role does not allow this',
    text: 'Ask an owner or an administrator of your organization.',
  },
  foreignForm: {
    title: 'This was not sent from here',
    text: 'Nothing was done. Go back, load the page again, and try once more.',
  },
  tooLarge: { title: 'That was too much at once', text: 'Nothing was done. Go back and send less.' },
  tooMany: { title: 'That was too fast', text: 'Please wait a moment and try again.' },
  unavailable: {
    title: 'This does not work at the moment',
    text: 'Please try again in a moment. Nothing is lost.',
  },
};

export type BaseWords = typeof en;
