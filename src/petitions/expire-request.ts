import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands } from '#libs/commands';
import { Input, OperationRunner, systemInput } from '#libs/rpc';
import { type Due, type Timer } from '#libs/subscriptions';
import { ConfirmationMails } from './confirmation-mails.js';
import { type ExpiryReason } from './signature-request.js';
import { SignatureRequests } from './signature-requests.js';

export const EXPIRY_TIMER = 'signature-expiry';

/** Ends an unconfirmed signature and destroys its data. Not an operation of the API: a timer runs it. */
export class ExpireRequest extends Input {
  requestId!: string;
  reason!: ExpiryReason;
  /** The request that replaces it. */
  by!: string | null;
}

@CommandHandler(ExpireRequest)
export class ExpireRequestHandler implements ICommandHandler<ExpireRequest> {
  constructor(
    private readonly commands: Commands,
    private readonly requests: SignatureRequests,
  ) {}

  async execute(command: ExpireRequest): Promise<void> {
    const { reason, by } = command;
    await this.commands.run(command, async () =>
      this.requests.expired(await this.requests.load(command), reason, by),
    );
  }
}

@Injectable()
export class SignatureExpiry implements Timer {
  readonly name = EXPIRY_TIMER;

  constructor(
    private readonly runner: OperationRunner,
    private readonly mails: ConfirmationMails,
  ) {}

  async fire({ organizationId, id: requestId }: Due): Promise<void> {
    const fields = { requestId, reason: 'TIME', by: null } as const;
    await this.runner.execute(systemInput(ExpireRequest, organizationId, fields, EXPIRY_TIMER));
    await this.mails.forget();
  }
}
