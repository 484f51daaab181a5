import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Input } from '#libs/rpc';
import { Confirmations, type PersonDetails, type Suspicion } from '../confirmations/index.js';
import { type Evidence } from '../contacts/index.js';
import { form, requirePublished } from './form.js';
import { signUps } from './sign-up.js';

/** Signs up on a form's page. Not an operation of the API: clients with a key call contact.create-contact. */
export class RequestSignUp extends Input {
  formId!: string;
  person!: PersonDetails;
  /** Whether the person subscribes to the organization's emails. */
  subscribe!: boolean;
  source!: string | null;
  /** The text next to the checkbox, as the person saw it. */
  consent?: Evidence;
  suspicion!: Suspicion[];
}

@CommandHandler(RequestSignUp)
export class RequestSignUpHandler implements ICommandHandler<RequestSignUp> {
  constructor(
    private readonly confirmations: Confirmations,
    private readonly records: RecordReader,
  ) {}

  /** @throws RpcError NOT_FOUND unless the form exists and accepts sign-ups. */
  execute(command: RequestSignUp): Promise<{ requestId: string }> {
    const { organizationId, formId, person, subscribe, source, suspicion, consent } = command;
    const requested = signUps.request({ formId, source, suspicion, subscribe }, person);
    const open = async () => {
      const { state, version } = await this.records.load(form, organizationId, formId);
      requirePublished(state);
      return { streamId: formId, version };
    };
    return this.confirmations.request(signUps, command, requested, open, consent);
  }
}
