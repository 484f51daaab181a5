import { Injectable } from '@nestjs/common';
import { parseInput } from '#libs/rpc';
import { audienceOf, BroadcastFieldsInput } from './broadcast-fields.js';
import { MessageBuilder, NOBODY, notShowable, type Recipient } from './message-builder.js';

/** Checked like the input of update-broadcast, so that the preview reports what saving would report. */
class UnsavedMessage extends BroadcastFieldsInput {}

/** Previews of messages that someone is writing. */
@Injectable()
export class UnsavedPreviews {
  constructor(private readonly messageBuilder: MessageBuilder) {}

  /**
   * The HTML that would be sent to `recipient`, except that its links to unsubscribe and to sign belong to no one.
   *
   * @param given the fields of a broadcast, unchecked. Its audience only chooses the petition, so no one needs to own its records.
   * @throws RpcError BAD_REQUEST if a field is invalid; CONFLICT if the template fails.
   */
  async htmlOf(
    organizationId: string,
    given: Record<string, unknown>,
    recipient: Omit<Recipient, 'id'>,
  ): Promise<string> {
    const input = parseInput(UnsavedMessage, { organizationId, ...given }, 'body');
    const { subject = '', preheader = null, content = '', format = 'MARKDOWN', audience } = input;
    const { writing, blockers } = await this.messageBuilder.prepare(organizationId, NOBODY, {
      ...{ name: '', subject, preheader, content, format },
      audience: audience ? audienceOf(audience) : {},
    });
    if (!writing) throw notShowable(blockers);
    return (await this.messageBuilder.show(writing, { id: NOBODY, ...recipient }, [])).html;
  }
}
