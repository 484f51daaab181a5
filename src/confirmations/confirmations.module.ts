import { Module } from '@nestjs/common';
import { ContactsModule } from '../contacts/index.js';
import { SuppressionsModule } from '../suppressions/index.js';
import { AskToConfirm } from './ask-to-confirm.js';
import { ConfirmationMails } from './confirmation-mails.js';
import { Confirmations } from './confirmations.js';
import { EndRequests } from './end-requests.js';

@Module({
  imports: [ContactsModule, SuppressionsModule],
  providers: [AskToConfirm, ConfirmationMails, Confirmations, EndRequests],
  exports: [AskToConfirm, ConfirmationMails, Confirmations, EndRequests],
})
export class ConfirmationsModule {}
