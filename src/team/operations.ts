/** The operations of the service `team`, in the order of its documentation. */
export * from './invite-member.js';
export * from './list-members.js';
export * from './update-member.js';
export * from './remove-member.js';
export * from './list-invitations.js';
export * from './revoke-invitation.js';
