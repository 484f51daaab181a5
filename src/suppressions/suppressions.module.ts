import './erased-with-contacts.js';
import './exported-with-persons.js';
import './merged-with-contacts.js';
import { ProductModule } from '#libs/modules';
import { RateLimitGuard } from '#libs/rate-limit';
import { ContactsModule, suppressImportedBy } from '../contacts/index.js';
import { AmazonSns } from './amazon-sns.js';
import { contactMail } from './contact-mail.js';
import { CreateSuppression } from './create-suppression.js';
import { MailHookController } from './mail-hook.controller.js';
import * as operations from './operations.js';
import { replayableSuppressions } from './suppression-record.js';
import { suppressedAddress } from './suppressed-address.js';
import { suppressionIdOf } from './suppression-id.js';
import { isSuppressed, suppression } from './suppression.js';
import { suppressionsProjection } from './suppressions.projection.js';
import { Suppressions } from './suppressions.js';

suppressImportedBy(CreateSuppression, async ({ records, store }, organizationId, email) => {
  const streamId = suppressionIdOf(store.keyring, organizationId, email);
  const { state, version } = await records.load(suppression, organizationId, streamId);
  return isSuppressed(state) ? undefined : { streamId, version };
});

/** Fetches certificates from Amazon. */
const amazonSns = { provide: AmazonSns, useFactory: () => new AmazonSns() };

@ProductModule({
  operations,
  services: { suppression: 'Addresses that receive no email.' },
  streams: [suppression, suppressedAddress, contactMail],
  projections: [suppressionsProjection],
  replayables: [replayableSuppressions],
  imports: [ContactsModule],
  controllers: [MailHookController],
  providers: [Suppressions, amazonSns, RateLimitGuard],
  exports: [Suppressions],
})
export class SuppressionsModule {}
