export const reasons = {
  INSUFFICIENT_PERMISSIONS: {
    ROLE_EXCEEDS_YOURS:
      'The role to assign, or the current role of the person, has more permissions than you. Ask someone who has them all.',
  },
  CONFLICT: {
    ALREADY_MEMBER:
      'The person is already a member of your organization. To change their role, use update-member.',
    INVITATION_ACCEPTED: 'The invitation was already accepted. To remove the person, use remove-member.',
    LAST_OWNER: 'The person is the last owner of your organization. Make someone else an owner first.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    team: typeof reasons;
  }
}
