! callers_target.f90 - as callers_target.c, in Fortran
!
! SPDX-License-Identifier: Apache-2.0
module mesh
  use iso_fortran_env, only: int64, real64
  implicit none
  real(real64), volatile :: total = 0
  real(real64) :: spent(2) = 0
contains
  subroutine spin(chain)
    integer, intent(in) :: chain
    real(real64) :: start, at
    integer :: i

    call cpu_time(start)
    at = start
    do while (at < start + 0.002_real64)
      do i = 1, 20000
        total = total * 0.5_real64 + i
      end do
      call cpu_time(at)
    end do
    spent(chain) = spent(chain) + at - start
  end subroutine

  recursive subroutine refine(level)
    integer, intent(in) :: level

    if (level > 1) then
      call refine(level - 1)
    else
      call spin(1)
    end if
    total = total + 1
  end subroutine

  subroutine relax(cells)
    integer, intent(in) :: cells
    real(real64) :: values(cells)

    values = 1
    call spin(2)
    total = total + sum(values)
  end subroutine
end module

program callers
  use mesh
  implicit none
  integer :: steps, i
  character(len=16) :: text

  call get_command_argument(1, text)
  read (text, *) steps
  do i = 1, steps
    call refine(4)
    call relax(100)
  end do
  print '(i0, a)', int(spent(1) * 1e9_real64, int64), &
    ' main MAIN__ __mesh_MOD_refine __mesh_MOD_refine __mesh_MOD_refine __mesh_MOD_refine __mesh_MOD_spin'
  print '(i0, a)', int(spent(2) * 1e9_real64, int64), ' main MAIN__ __mesh_MOD_relax __mesh_MOD_spin'
end program
