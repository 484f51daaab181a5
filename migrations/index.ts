import { EventStore1764000000001 } from './0001-event-store.js';
import { Projections1764000000002 } from './0002-projections.js';
import { KeyCheck1764000000003 } from './0003-key-check.js';
import { Guards1764000000004 } from './0004-guards.js';
import { ApiKeyUse1764000000005 } from './0005-api-key-use.js';
import { Seals1764000000006 } from './0006-seals.js';
import { Queries1764000000007 } from './0007-queries.js';
import { Erasure1764000000008 } from './0008-erasure.js';
import { PageBytes1764000000009 } from './0009-page-bytes.js';
import { Mended1764000000010 } from './0010-mended.js';
import { Times1764000000011 } from './0011-times.js';
import { Positions1764000000012, PositionsValid1764000000012 } from './0012-positions.js';
import { HistoryReads1764000000014 } from './0014-history-reads.js';
import { SignedNotes1764000000015 } from './0015-signed-notes.js';
import { MasterKeys1764000000016 } from './0016-master-keys.js';
import { SelfChecks1764000000017 } from './0017-self-checks.js';
import { Cosignatures1764000000018 } from './0018-cosignatures.js';
import { CheckpointLeaves1764000000019 } from './0019-checkpoint-leaves.js';
import { Claims1764000000020 } from './0020-claims.js';
import { Lookups1764000000021 } from './0021-lookups.js';
import { Subscriptions1764000000022 } from './0022-subscriptions.js';
import { Webhooks1764000000027 } from './0027-webhooks.js';
import { Broadcasts1764000000028 } from './0028-broadcasts.js';
import { Images1764000000029 } from './0029-images.js';
import { Site1764000000030 } from './0030-site.js';
import { Team1764000000031 } from './0031-team.js';
import { ContactImports1764000000032 } from './0032-contact-imports.js';
import { PasskeyChallenges1764000000033 } from './0033-passkey-challenges.js';
import { DoubtsReturned1764000000034 } from './0034-doubts-returned.js';
import { WebhookNews1764000000035 } from './0035-webhook-news.js';
import { Releases1764000000036 } from './0036-releases.js';
import { MovedLinks1764000000037 } from './0037-moved-links.js';
import { Imports1764000000038 } from './0038-imports.js';
import { ImportsByVersion1764000000039 } from './0039-imports-by-version.js';
import { ImportedSignatures1764000000040 } from './0040-imported-signatures.js';
import { SubjectsEnded1764000000041 } from './0041-subjects-ended.js';
import { UndoneImports1764000000042 } from './0042-undone-imports.js';
import { ThankYouMails1764000000043 } from './0043-thank-you-mails.js';
import { SignUpsEnded1764000000044 } from './0044-sign-ups-ended.js';
import { BroadcastLinks1764000000045 } from './0045-broadcast-links.js';
import { Deliveries1764000000046 } from './0046-deliveries.js';
import { Notifications1764000000047 } from './0047-notifications.js';
import { Drafts1764000000048 } from './0048-drafts.js';

export { schema } from './schema.js';

/** Listed one by one: globs do not find ESM files. */
export const migrations = [
  EventStore1764000000001,
  Projections1764000000002,
  KeyCheck1764000000003,
  Guards1764000000004,
  ApiKeyUse1764000000005,
  Seals1764000000006,
  Queries1764000000007,
  Erasure1764000000008,
  PageBytes1764000000009,
  Mended1764000000010,
  Times1764000000011,
  Positions1764000000012,
  PositionsValid1764000000012,
  HistoryReads1764000000014,
  SignedNotes1764000000015,
  MasterKeys1764000000016,
  SelfChecks1764000000017,
  Cosignatures1764000000018,
  CheckpointLeaves1764000000019,
  Claims1764000000020,
  Lookups1764000000021,
  Subscriptions1764000000022,
  Webhooks1764000000027,
  Broadcasts1764000000028,
  Images1764000000029,
  Site1764000000030,
  Team1764000000031,
  ContactImports1764000000032,
  PasskeyChallenges1764000000033,
  DoubtsReturned1764000000034,
  WebhookNews1764000000035,
  Releases1764000000036,
  MovedLinks1764000000037,
  Imports1764000000038,
  ImportsByVersion1764000000039,
  ImportedSignatures1764000000040,
  SubjectsEnded1764000000041,
  UndoneImports1764000000042,
  ThankYouMails1764000000043,
  SignUpsEnded1764000000044,
  BroadcastLinks1764000000045,
  Deliveries1764000000046,
  Notifications1764000000047,
  Drafts1764000000048,
];
