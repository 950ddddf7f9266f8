# Sign-in with another service.
services = Sign-in with other services
service-sign-in = Sign in with { $name }
service-link = Link with { $name }
service-link-hint = Sign in to { $name }. You can then also sign in here with { $name }.
service-continue = Continue to { $name }
service-back = Go back to your account
service-linked = Linked with { $name } since
service-unlink = Remove the links
service-unlink-hint =
    Without a linked account, you need your password. An administrator can create a link with which
    you choose a new one.
service-none = No other service is configured.
service-issuer = Issuer
service-client = Client ID
service-callback = Address that the service must allow
service-new-persons = New people
service-adds-users = become users when they first sign in
service-adds-none = must link an existing user
refusal-service-flow = This sign-in has ended, or was started in another browser. Sign in again.
refusal-service-refused = The other service has refused the sign-in.
refusal-service-failed = The other service has not confirmed the sign-in. Try again later.
refusal-service-not-linked = Your account at the other service is not linked to a user of this site. Sign in with your password, and link the other service on the page of your account.
refusal-service-taken = Your account at the other service is already linked to another user of this site.
refusal-account-disabled = Your account is disabled.
