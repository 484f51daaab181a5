export { PetitionsModule } from './petitions.module.js';
export { formSchema, petitions, signature } from './petitions.js';
export { readThankYou, ThankYouInput, thankYouSchema } from './after-signing.js';
export { AddSignature } from './add-signature.js';
export { CreatePetition } from './create-petition.js';
export { PublishPetition } from './publish-petition.js';
export { invalidation } from './invalidation.js';
export { invalidationPlan, invalidationPlanId } from './invalidation-plan.js';
export { newForm, type PetitionForm, STANDARD_FIELDS, type StandardField } from './petition-form.js';
export { customFieldName, type NamedForm, PetitionForms } from './petition-forms.js';
export {
  COMMENTS,
  type Comments,
  type Confirmation,
  existingPetition,
  type ExistingPetition,
  type PetitionFields,
  nextGoal,
  type Outcome,
  OUTCOMES,
  petition,
  STATUSES,
  type ThankYou,
  type ThankYouMail,
} from './petition.js';
export { inLanguage, languageTag, translationIn } from './petition-language.js';
export { TranslationLanguage } from './translations.js';
export { ThankYouMails, type ThankYouStatus } from './thank-you-mails.js';
export { ConsentInput, DEFAULT_GOAL, FormFieldInput } from './petition-fields.js';
export { ConfirmSignature } from './confirm-signature.js';
export { COMMENT_STATES } from './comment.js';
export { offlineCount } from './offline-count.js';
export { OfflineSignatures } from './offline-counts.js';
export { PublicComments } from './public-comments.js';
export { RecentSignatures } from './recent-signatures.js';
export { MOST_COUNTED, Recruiting } from './recruiting.js';
export { RequestSignature } from './request-signature.js';
export {
  type Appearance,
  APPEARANCES,
  type Requested,
  signatureRequests,
  type SignerDetails,
} from './signature-request.js';
export { SignFromEmail } from './sign-from-email.js';
export { Signers } from './signers.js';
export { SIGNATURES_BY_COMMENT, SIGNATURES_OF_CONTACT } from './signature-rows.js';
export { type SignatureRecord } from './signature-record.js';
