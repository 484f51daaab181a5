import { ProductModule } from '#libs/modules';
import { ConfirmationsModule } from '../confirmations/index.js';
import { ContactsModule } from '../contacts/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PetitionsModule } from '../petitions/index.js';
import { AskSubscribers, FormCompletion, FormDeletions, SignUpExpiry } from './ask-subscribers.js';
import { ConfirmSignUpHandler } from './confirm-sign-up.js';
import { forms } from './forms.js';
import * as operations from './operations.js';
import { RequestSignUpHandler } from './request-sign-up.js';
import { signUps } from './sign-up.js';

@ProductModule({
  operations,
  services: { form: 'Forms with which people subscribe, and their sign-ups.' },
  resources: [forms],
  streams: [signUps.decider],
  subscriptions: [AskSubscribers, FormDeletions],
  timers: [SignUpExpiry],
  imports: [ConfirmationsModule, ContactsModule, OrganizationsModule, PetitionsModule],
  // The form's page executes the handlers. They have no routes.
  providers: [FormCompletion, RequestSignUpHandler, ConfirmSignUpHandler],
})
export class FormsModule {}
