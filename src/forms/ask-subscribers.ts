import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type Past, type RecordedEvent } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { inputOf, OperationRunner } from '#libs/rpc';
import { type Due, type Subscription, type Timer } from '#libs/subscriptions';
import { localeIn } from '#locales';
import { AskToConfirm, EndRequests } from '../confirmations/index.js';
import { sender, senderId, SiteAddress } from '../organizations/index.js';
import { type PetitionForm, PetitionForms } from '../petitions/index.js';
import { ConfirmSignUp } from './confirm-sign-up.js';
import { exists, form } from './form.js';
import { forms } from './forms.js';
import { signUps } from './sign-up.js';

/** Adds the URL of a form's page and the title of the built-in form to responses, and names custom fields by their keys. */
@Injectable()
export class FormCompletion implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly site: SiteAddress,
    private readonly asked: PetitionForms,
    private readonly reader: RecordReader,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(forms, async (organizationId, records, past) => {
      const stored = records.map((record) => record as unknown as PetitionForm);
      const named = await this.asked.named(organizationId, stored, past);
      for (const [n, record] of records.entries()) {
        record.fields = named[n]!.fields;
        record.title = await this.titleOf(organizationId, record.title as string | null, past);
        record.url = await this.urlOf(organizationId, record.id, record.slug as string | null);
      }
    });
  }

  /** @param title null for the site's own, in the organization's language. @param past undefined for the present. */
  async titleOf(organizationId: string, title: string | null, past?: Past): Promise<string> {
    if (title !== null) return title;
    const { state } = await this.reader.look(sender, organizationId, senderId(organizationId), past);
    return localeIn(state.language).site.signUp.title;
  }

  /** null if the operator has disabled the public site. */
  async urlOf(organizationId: string, formId: string, slug: string | null): Promise<string | null> {
    const site = await this.site.of(organizationId);
    return site && `${site}/forms/${slug ?? formId}`;
  }
}

/**
 * Emails people on a form's page a link to confirm their sign-up. Subscribers get the same email as everyone else: confirming
 * again changes what they entered differently.
 */
@Injectable()
export class AskSubscribers implements Subscription {
  readonly name = 'sign-up-requests';
  readonly handles = [signUps.names.requested];
  readonly begins = 'at the first event';

  constructor(
    private readonly asking: AskToConfirm,
    private readonly runner: OperationRunner,
    private readonly records: RecordReader,
    private readonly completion: FormCompletion,
  ) {}

  handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    return this.asking.ask(signUps, event, signal, {
      name: this.name,
      mail: 'signUp',
      find: async (organizationId, formId) => {
        const { state } = await this.records.look(form, organizationId, formId);
        if (!exists(state) || state.status === 'PAUSED') return undefined;
        const { confirmation, slug } = state;
        const title = await this.completion.titleOf(organizationId, state.title);
        return { title, confirmation, url: await this.completion.urlOf(organizationId, formId, slug) };
      },
      confirm: ({ requestId, context }) =>
        this.runner.execute(inputOf(ConfirmSignUp, { requestId, isProved: false }, context)),
      isDone: () => Promise.resolve(false),
    });
  }
}

@Injectable()
export class SignUpExpiry implements Timer {
  readonly name = signUps.names.timer;

  constructor(private readonly requests: EndRequests) {}

  fire(due: Due): Promise<void> {
    return this.requests.overdue(signUps, due);
  }
}

/** When a form is deleted, ends the sign-ups that await confirmation. */
@Injectable()
export class FormDeletions implements Subscription {
  readonly name = 'form-deletions';
  readonly handles = ['FormDeleted'];
  readonly begins = 'at the first event';

  constructor(private readonly requests: EndRequests) {}

  handle(event: RecordedEvent): Promise<void> {
    return this.requests.ofDeleted(signUps, forms, event, this.name);
  }
}
