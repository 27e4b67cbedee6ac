! annotate.f90 - steps and ranges of a Fortran program
!
! SPDX-License-Identifier: Apache-2.0
!
!     gcc -I /opt/ck/include -c ck_fortran.c
!     gfortran annotate.f90 ck_fortran.o -o annotate
!     ckagent -- ./annotate
program annotate
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        subroutine ckf_step_begin(number) bind(c)
            import :: c_int64_t
            integer(c_int64_t), value :: number
        end subroutine
        subroutine ckf_step_end() bind(c)
        end subroutine
        subroutine ckf_range_push(name) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine ckf_range_pop() bind(c)
        end subroutine
    end interface
    integer(c_int64_t) :: step
    integer :: i
    double precision :: total

    total = 0
    do step = 0, 19
        call ckf_step_begin(step)
        call ckf_range_push("train" // c_null_char)
        do i = 1, 400000
            total = total + sqrt(dble(i))
        end do
        call ckf_range_pop()
        call ckf_step_end()
    end do
    print '(f0.0)', total
end program
