import { ResourceCommands, Resources } from '#libs/resources';
import { handlerOf, Id, Operation } from '#libs/rpc';
import { audienceOf, BroadcastFieldsInput, checkAudience } from './broadcast-fields.js';
import { updateBroadcast } from './broadcast.js';
import { broadcasts, broadcastSchema } from './broadcasts.js';

@Operation({
  name: 'broadcast.update-broadcast',
  summary: 'Update a broadcast',
  description:
    'Changes only the fields you send; `audience` is replaced as a whole. Allowed only before sending starts.',
  answers: broadcastSchema,
  reasons: ['BROADCAST_BEGUN'],
  fieldScopes: { audience: 'contact:read' },
})
export class UpdateBroadcast extends BroadcastFieldsInput {
  @Id()
  broadcastId!: string;
}

export const UpdateBroadcastHandler = handlerOf(
  UpdateBroadcast,
  [ResourceCommands, Resources],
  async (command, commands, resources) => {
    const { name, subject, preheader, content, format, audience, countClicks } = command;
    const given = {
      name,
      subject,
      preheader,
      content,
      format,
      audience: audience && audienceOf(audience),
      countClicks,
    };
    return commands.change(
      broadcasts,
      command,
      (state) => updateBroadcast(state, given as Parameters<typeof updateBroadcast>[1]),
      () => checkAudience(command, resources),
    );
  },
);
