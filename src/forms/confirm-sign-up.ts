import { RecordReader } from '#libs/commands';
import { handlerOf, Input } from '#libs/rpc';
import { Confirmations } from '../confirmations/index.js';
import { AssignedGroups, withAssignment } from '../contacts/index.js';
import { lists } from '../lists/index.js';
import { tags } from '../tags/index.js';
import { form, requirePublished } from './form.js';
import { signUps } from './sign-up.js';

/** Confirms a sign-up from a form's page. Not an operation of the API: the link in the email authorizes it. */
export class ConfirmSignUp extends Input {
  requestId!: string;
  /** Whether the person came by the link in the email: see `Confirmations.confirm`. */
  isProved!: boolean;
}

export const ConfirmSignUpHandler = handlerOf(
  ConfirmSignUp,
  [Confirmations, RecordReader, AssignedGroups],
  (command, confirmations, records, groups) => {
    const { organizationId } = command;
    return confirmations.confirm(signUps, command, async (loaded, pending) => {
      const { formId } = pending;
      const { state, version } = await records.load(form, organizationId, formId);
      const { listIds, tagIds } = requirePublished(state);
      const assigned = [
        { resource: lists, ids: listIds },
        { resource: tags, ids: tagIds },
      ];
      return confirmations.forContact(command, pending, async (contactId, isNew, changed) => {
        const ended = confirmations.confirmed(signUps, loaded, contactId);
        const decision = {
          ...ended,
          guards: [{ streamId: formId, version }, ...changed.guards],
          writes: [...changed.writes, ...ended.writes],
        };
        return withAssignment(decision, await groups.ofExisting(organizationId, assigned, contactId, isNew));
      });
    });
  },
);
