import { ProductModule } from '#libs/modules';
import { ConfirmationsModule } from '../confirmations/index.js';
import { ContactsModule } from '../contacts/index.js';
import { ImportJobsModule } from '../contacts/import/jobs/index.js';
import { FieldsModule } from '../fields/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { AskSigners, PetitionDeletions, SignatureExpiry } from './ask-signers.js';
import { ChosenSignatures } from './chosen-signatures.js';
import { comment } from './comment.js';
import { CommentReview } from './comment-review.js';
import { ConfirmSignatureHandler } from './confirm-signature.js';
import { PetitionGoals } from './goal-reached.js';
import { Invalidations } from './invalidate-in-pages.js';
import { invalidations } from './invalidations.js';
import { offlineCounts, OfflineSignatures } from './offline-counts.js';
import { OpenPetitions } from './open-petitions.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { PetitionAddress } from './petition-address.js';
import { petitionEnd } from './petition-end.js';
import { invalidationPlan } from './invalidation-plan.js';
import { PlannedInvalidations } from './planned-invalidations.js';
import { petitionDelivery } from './petition-delivery.js';
import { PetitionForms } from './petition-forms.js';
import { petitionGoal } from './petition-goal.js';
import { petitionShapes } from './petition-shapes.js';
import { petitions, signatureShapes } from './petitions.js';
import { PublicComments } from './public-comments.js';
import { RecentSignatures } from './recent-signatures.js';
import { Recruiting } from './recruiting.js';
import { RequestSignatureHandler } from './request-signature.js';
import { SignFromEmailHandler } from './sign-from-email.js';
import { signatureRequests, signatureRequestShapes } from './signature-request.js';
import { thankYouRetry } from './retry-thank-you-mails.js';
import { Signers } from './signers.js';
import { ThankYouMails } from './thank-you-mails.js';

@ProductModule({
  operations,
  services: { petition: 'Petitions that people sign, with their signatures and counts.' },
  reasons,
  resources: [petitions, invalidations, offlineCounts],
  streams: [
    comment,
    petitionDelivery,
    petitionGoal,
    signatureRequests.decider,
    invalidationPlan,
    thankYouRetry,
  ],
  subscriptions: [
    PetitionGoals,
    Invalidations,
    PlannedInvalidations,
    AskSigners,
    petitionEnd.subscription,
    PetitionDeletions,
  ],
  timers: [SignatureExpiry, petitionEnd.timer],
  upcasters: { ...petitionShapes, ...signatureShapes, ...signatureRequestShapes },
  imports: [ConfirmationsModule, ContactsModule, FieldsModule, ImportJobsModule, OrganizationsModule],
  providers: [
    OfflineSignatures,
    OpenPetitions,
    ChosenSignatures,
    CommentReview,
    PetitionAddress,
    PetitionForms,
    PublicComments,
    RecentSignatures,
    Recruiting,
    Signers,
    ThankYouMails,
    // The petition's page and timers execute these. They have no routes.
    RequestSignatureHandler,
    ConfirmSignatureHandler,
    SignFromEmailHandler,
    petitionEnd.handler,
  ],
  exports: [
    OfflineSignatures,
    Recruiting,
    Signers,
    PetitionForms,
    PublicComments,
    RecentSignatures,
    ThankYouMails,
  ],
})
export class PetitionsModule {}
